"""Statements of the source. A body is compiled in one of two ways: straight, leaving the names it assigns in scope; or,
where it may leave by `return`, `break` or `continue`, as an expression whose value is what leaving means: the rest of the
statements then stands in every arm that goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from backends.acrobat import markers
from backends.acrobat.core.types import DataT, TupleT
from backends.acrobat.frontend import containers, loops, mutation
from backends.acrobat.frontend.annotations import AnnotationError
from backends.acrobat.frontend.calls import PURE, marker_of
from backends.acrobat.frontend.conditions import decide
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.outputs import LIST_CHANGES, SET_CHANGES
from backends.acrobat.frontend.patterns import match_rows
from backends.acrobat.frontend.scope import Exits, assign, changed_in, ends, hint_of, leaves, own
from backends.acrobat.frontend.source import harmless
from backends.acrobat.frontend.tensors import Refused
from backends.acrobat.frontend.values import (
    Dyn,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    is_list,
    is_ragged,
    is_tensor,
    is_unknown,
    nothing_known,
    type_of,
    type_or_none,
    unknown,
)

Body = Sequence[ast.stmt]


def value_of(f: Frame, statements: Body, exits: Exits) -> Value:
    """The value of a body that leaves by one of `exits`."""
    for i, s in enumerate(statements):
        rest = statements[i + 1 :]
        with f.at(s):
            match s:
                case ast.Return(value):
                    owned = set(f.owned)
                    result = f.expression(value, "result") if value is not None else Static(None)
                    f.owned = owned  # nothing is appended after this
                    return exits.returns(s, result)
                case ast.Break() if exits.breaks is not None:
                    return exits.breaks()
                case ast.Continue() if exits.continues is not None:
                    return exits.continues()
                case ast.If() | ast.Match() | ast.For() | ast.While() if leaves(s):
                    try:
                        return _leaving(f, s, rest, exits)
                    except Refused as refused:
                        return f.problem(s, refused.message, refused.advice)
                    except (Mismatch, AnnotationError) as error:
                        return f.problem(s, str(error))
                case ast.With(items, body) if leaves(s) and all(harmless(i.context_expr) for i in items):
                    return value_of(f, [*body, *rest], exits)
            statement(f, s)
            if leaves(s):  # in a way that is not in the language, which was told
                return unknown()
    return exits.fall()


def _leaving(f: Frame, s: ast.If | ast.Match | ast.For | ast.While, rest: Body, exits: Exits) -> Value:
    """A statement that may leave its body, with the statements after it."""

    def go_on() -> Value:
        return value_of(f, rest, exits)

    match s:
        case ast.If(test, body, orelse):
            return decide(f, s, test, lambda: value_of(f, [*body, *rest], exits), lambda: value_of(f, [*orelse, *rest], exits))
        case ast.Match():
            return match_rows(f, s, lambda body: value_of(f, [*body, *rest], exits), go_on)
    xs = _iterated(f, s)
    if isinstance(xs, TupleV):
        return _unrolled(f, s, xs, Exits(go_on, exits.returns))
    return loops.returning(f, s, xs, exits.returns, go_on)


def straight(f: Frame, statements: Body) -> None:
    """Compile a body that is not left early; what it assigns stays in scope."""
    for s in statements:
        with f.at(s):
            statement(f, s)


def statement(f: Frame, s: ast.stmt) -> None:
    """One statement that does not leave its body."""
    try:
        _dispatch(f, s)
    except Refused as refused:
        f.problem(s, refused.message, refused.advice)
    except (Mismatch, AnnotationError) as error:
        f.problem(s, str(error))


def _dispatch(f: Frame, s: ast.stmt) -> None:
    match s:
        case ast.Assign(targets, value):
            v = f.expression(value, hint_of(targets[0]))
            for target in targets:
                _assign_or_lose(f, target, v)
            if len(targets) == 1:
                own(f, targets[0], value)
        case ast.AnnAssign(target, annotation, value):
            if value is not None:
                v = f.expression(value, hint_of(target))
                wanted = f.program.annotation(f, annotation)
                if not contains_unknown(wanted) and (not is_unknown(v) or is_list(v)):
                    v = f.coerce(v, wanted)
                _assign_or_lose(f, target, v)
                own(f, target, value)
        case ast.AugAssign(ast.Name(name) as target, op, value):
            _augmented(
                f, s, name, ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(name, ast.Load()), target), op, value), s)
            )
        case ast.AugAssign(ast.Subscript() as target, op, value):
            read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
            mutation.put_item(f, s, target, f.expression(ast.copy_location(ast.BinOp(read, op, value), s)))
        case ast.AugAssign():
            f.problem(s, "only names can be assigned to: the language is pure", "build a new value, or a new list")
        case ast.Expr(ast.Constant()) | ast.Pass() | ast.Assert():
            pass
        case ast.Expr(ast.Call(ast.Attribute(owner, name), args, [])) if name in LIST_CHANGES and _changes(f, owner):
            mutation.method(f, s, owner, name, args)
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(who) as owner, name), args, [])) if (
            name in SET_CHANGES and who in f.env and containers.kind_of(f.env[who])
        ):
            containers.change(f, s, owner, name, args)
        case ast.Expr(value):
            changed = len(f.builder.instead)
            names = dict(f.env)
            v = f.expression(value)
            if isinstance(value, ast.Call) and any(f.env.get(k) is not x for k, x in names.items()):
                return  # what it does is change a list
            if len(f.builder.instead) > changed:
                return  # what it does is change a tensor in place
            marker = marker_of(f, value)
            if marker is markers.phase and not nothing_known(v):
                f.problem(s, "the result of `phase` is not used, so no work is of its phase", PURE)
            elif marker is not markers.parallel and not nothing_known(v):
                f.problem(s, "this statement has no effect", "the language is pure: assign the value, or leave it out")
        case ast.With(items, body) if all(harmless(i.context_expr) for i in items):
            straight(f, body)
        case ast.If(test, body, orelse):
            _merging(f, s, lambda arm: decide(f, s, test, lambda: arm(body), lambda: arm(orelse)))
        case ast.Match():
            _merging(f, s, lambda arm: match_rows(f, s, arm, lambda: arm([])))
        case ast.For() | ast.While():
            xs = _iterated(f, s)
            if not isinstance(xs, TupleV):
                loops.loop(f, s, xs)
            elif any(ends(b) or leaves(b) for b in s.body):
                _merging(f, s, lambda arm: _unrolled(f, s, xs, Exits(lambda: arm([]), lambda at, value: unknown())))
            else:
                for element in xs.items:
                    assign(f, s.target, element)  # type: ignore[union-attr]
                    straight(f, s.body)
        case _:
            what = {"With": "`with`", "Try": "`try`", "FunctionDef": "a function inside a function", "Delete": "`del`"}
            name = type(s).__name__
            f.problem(s, f"{what.get(name, f'`{name.lower()}`')} is not in the language", "LANGUAGE.md lists the statements")


def _changes(f: Frame, owner: ast.expr) -> bool:
    """Whether a method named like one of a list may be one: not that of a module or of the user's class."""
    if isinstance(owner, ast.Name) and owner.id in f.env:
        return not isinstance(f.env[owner.id], Module) and not isinstance(type_or_none(f.env[owner.id]), DataT)
    return True


def _assign_or_lose(f: Frame, target: ast.expr, value: Value) -> None:
    """Assign; where that cannot be, the names are unknown from here on, which silences what follows."""
    try:
        assign(f, target, value)
    except Mismatch:
        assign(f, target, unknown())
        raise


def _augmented(f: Frame, s: ast.AugAssign, name: str, sum: ast.BinOp) -> None:
    before = f.env.get(name)
    if before is not None and (is_tensor(before) or is_ragged(before)):
        _tensor_changed(f, s, name, before, sum)
        return
    if before is not None and is_list(before) and name not in f.owned:
        f.problem(s, f"`+=` changes a list that may be seen under another name than `{name}`", f"write `{name} = {name} + ...`")
        return
    assign(f, s.target, f.expression(sum, name))
    own(f, s.target, sum)


def _tensor_changed(f: Frame, s: ast.AugAssign, name: str, before: Value, sum: ast.BinOp) -> None:
    """`x += y` of a tensor, which changes it under all its names."""
    if name in f.owned:
        value = f.expression(sum, name)
        if not is_unknown(value) and type_or_none(value) != type_or_none(before):
            f.problem(s, "a tensor that is changed in place keeps its shape and type", f"write `{name} = {name} + ...`")
        mutation.give(f, name, value)
    elif isinstance(before, Dyn) and getattr(f.atom(before), "name", "") in f.builder.fresh:
        f.tensors.in_place(before, lambda x: f.expression(sum, name))
    else:
        advice = f"write `{name} = {name} + ...` or the like, which makes a new tensor"
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)


def _iterated(f: Frame, s: ast.For | ast.While | ast.If | ast.Match) -> Value | None:
    """What a `for` loop runs over; None for `while`."""
    if not isinstance(s, (ast.For, ast.While)):
        return None
    if s.orelse:
        f.problem(s, "`else` of a loop is not in the language", "set a flag before `break`")
    return loops.iterated(f, s) if isinstance(s, ast.For) else None


def _unrolled(f: Frame, s: ast.For | ast.While | ast.If | ast.Match, xs: TupleV, exits: Exits) -> Value:
    """A loop over a tuple or module list, one body after the other, as a body of its own; it may be left early."""
    assert isinstance(s, ast.For)

    def from_item(i: int) -> Value:
        if i == len(xs.items):
            return exits.fall()
        assign(f, s.target, xs.items[i])
        return value_of(
            f, s.body, replace(exits, fall=lambda: from_item(i + 1), continues=lambda: from_item(i + 1), breaks=exits.fall)
        )

    return from_item(0)


def _computed(value: Value) -> bool:
    """Whether a value is one of the program, or a tuple that holds such: an only arm may have bound it."""
    return isinstance(value, Dyn) or (isinstance(value, TupleV) and any(map(_computed, value.items)))


def _merging(f: Frame, s: ast.stmt, branch: Callable[[Callable[[Body], Value]], Value]) -> None:
    """Run a branching statement and bring the names its arms assign back into scope."""
    names = changed_in(f, [s])
    before = dict(f.env)
    # What every arm defines, with values that can be merged, lives on; the rest is poisoned.
    seen: list[dict[str, Value]] = []

    def probe(body: Body) -> Value:
        straight(f, body)
        seen.append({name: f.env[name] for name in names if name in f.env})
        return Static(0)

    earlier, f.mutated = f.mutated, set()
    with f.trial():
        tried = branch(probe)
    if missed := sorted((f.mutated - set(names)) & set(before)):
        f.problem(s, f"`{missed[0]}` is changed in a branch in a way that is not followed", "assign it in the branch")
    f.mutated |= earlier
    live: list[str] = []
    fixed: dict[str, Value] = {}
    if is_unknown(tried) and not seen:  # nobody can say yet which arms there are
        fixed = dict.fromkeys(names, unknown())
    poisoned: dict[str, tuple[str, str]] = {}
    for name in names:
        values = [env.get(name) for env in seen]
        some = [v for v in values if v is not None]
        if len(some) < len(values):
            if some:
                poisoned[name] = "is assigned on some paths only", "assign it on every path, or before"
            continue
        if not some:
            continue
        same = all(v == some[0] for v in some)
        if same and (some[0] == before.get(name) or not _computed(some[0])):
            fixed[name] = some[0]
            continue
        try:
            f.common([type_of(v) for v in some], numbers=True)
        except Mismatch:
            poisoned[name] = f"differs in type between paths: {f.places(some)}", "give it the same type on every path"
            continue
        live.append(name)

    def arm(body: Body) -> Value:
        straight(f, body)
        return TupleV(tuple(f.env.get(name, unknown()) for name in live))

    value = branch(arm)
    for name in names:
        f.env.pop(name, None)
        f.poisoned.pop(name, None)
    f.poisoned |= poisoned
    f.env |= fixed
    parts = f.components(value, len(live)) if not is_unknown(value) or isinstance(type_or_none(value), TupleT) else None
    for i, name in enumerate(live):
        f.env[name] = parts[i] if parts is not None else unknown()
