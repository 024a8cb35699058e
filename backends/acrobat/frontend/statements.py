"""Statements of the source. A body is compiled in one of two ways: straight, leaving the names it assigns in scope; or,
where it may leave by `return`, `break` or `continue`, as an expression whose value is what leaving means: the rest of the
statements then stands in every arm that goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from backends.acrobat.frontend.annotations import AnnotationError
from backends.acrobat.frontend.expressions import expression, iterable, type_or_none
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.patterns import match_rows
from backends.acrobat.frontend.tensors import Refused
from backends.acrobat.frontend.values import (
    Dyn,
    Method,
    Mismatch,
    Module,
    Static,
    TupleV,
    Value,
    contains_unknown,
    describe,
    is_unknown,
    join_types,
    type_of,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.types import BOOL, ListT, TupleT
from backends.acrobat.ir.visitor import free_vars

ESCAPES = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class Exits:
    """What leaving a body means, as functions giving the body's value."""

    fall: Callable[[], Value]
    returns: Callable[[ast.Return], Value] | None = None
    breaks: Callable[[], Value] | None = None
    continues: Callable[[], Value] | None = None


def escapes(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may leave the body it stands in."""
    match node:
        case ast.Return():
            return True
        case ast.Break() | ast.Continue():
            return not in_loop
        case ast.For() | ast.While():
            return any(escapes(s, True) for s in node.body)
        case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
            return False
    return any(escapes(child, in_loop) for child in ast.iter_child_nodes(node))


def execute(f: Frame, statements: Sequence[ast.stmt], exits: Exits | None) -> Value | None:
    """Compile a body. With `exits` gives the body's value; without, leaves its names in scope and gives None."""
    for i, s in enumerate(statements):
        with f.at(s):
            match s:
                case ast.Return():
                    assert exits is not None
                    if exits.returns is None:
                        return f.problem(
                            s,
                            "`return` inside a loop is not in the language",
                            "leave the loop with `break` and return after it",
                        )
                    return exits.returns(s)
                case ast.Break() if exits is not None and exits.breaks is not None:
                    return exits.breaks()
                case ast.Continue() if exits is not None and exits.continues is not None:
                    return exits.continues()
                case ast.If() if escapes(s):
                    assert exits is not None
                    return _leaving_if(f, s, statements[i + 1 :], exits)
                case ast.Match() if escapes(s):
                    assert exits is not None
                    return _leaving_match(f, s, statements[i + 1 :], exits)
                case _:
                    statement(f, s)
    return exits.fall() if exits is not None else None


def _value(f: Frame, statements: Sequence[ast.stmt], exits: Exits) -> Value:
    value = execute(f, statements, exits)
    assert value is not None
    return value


def _leaving_if(f: Frame, s: ast.If, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    from backends.acrobat.frontend.expressions import choose

    cond = f.condition(expression(f, s.test), s.test)
    return choose(f, s, cond, lambda: _value(f, [*s.body, *rest], exits), lambda: _value(f, [*s.orelse, *rest], exits))


def _leaving_match(f: Frame, s: ast.Match, rest: Sequence[ast.stmt], exits: Exits) -> Value:
    return match_rows(f, s, lambda body: _value(f, [*body, *rest], exits), lambda: _value(f, rest, exits))


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
            v = expression(f, value, _hint(targets[0]))
            for target in targets:
                assign(f, target, v)
        case ast.AnnAssign(target, annotation, value):
            if value is not None:
                v = expression(f, value, _hint(target))
                wanted = f.program.annotation(f, annotation)
                if not contains_unknown(wanted) and (not is_unknown(v) or isinstance(type_or_none(v), ListT)):
                    v = f.coerce(v, wanted)
                assign(f, target, v)
        case ast.AugAssign(target, op, value):
            load = ast.copy_location(ast.Name(target.id, ast.Load()), target) if isinstance(target, ast.Name) else None
            if load is None:
                f.problem(s, "only names can be assigned to: the language is pure", "build a new value")
                return
            binary = ast.copy_location(ast.BinOp(load, op, value), s)
            assign(f, target, expression(f, binary, _hint(target)))
        case ast.Expr(ast.Constant()):
            pass
        case ast.Expr(ast.Call(ast.Attribute(owner, "append"), [item])):
            _append(f, s, owner, item)
        case ast.Expr(value):
            expression(f, value)
        case ast.Pass() | ast.Assert():
            pass
        case ast.If(test, body, orelse):
            cond = f.condition(expression(f, test), test)
            if isinstance(cond, Static):
                execute(f, body if cond.value else orelse, None)
            else:
                _merging(f, s, lambda arm: _bind_if(f, s, cond, arm))
        case ast.Match():
            _merging(f, s, lambda arm: match_rows(f, s, lambda body: arm(body), lambda: arm([])))
        case ast.For(target, iter_, body, orelse):
            if orelse:
                f.problem(s, "`else` of a loop is not in the language")
            execute_loop(f, s, target, iterable(f, expression(f, iter_), iter_), body)
        case ast.While(test, body, orelse):
            if orelse:
                f.problem(s, "`else` of a loop is not in the language")
            execute_while(f, s, test, body)
        case ast.Break() | ast.Continue():
            f.problem(s, "a loop over a tuple or module list known at compile time is unrolled and cannot be left early")
        case _:
            what = type(s).__name__.lower()
            f.problem(s, f"the statement `{what}` is not in the language", "LANGUAGE.md lists what is")


def _hint(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ""


def assign(f: Frame, target: ast.expr, value: Value) -> None:
    match target:
        case ast.Name(name):
            f.env[name] = value
            f.poisoned.pop(name, None)
        case ast.Tuple(elts) | ast.List(elts):
            if any(isinstance(e, ast.Starred) for e in elts):
                f.problem(target, "starred assignment is not in the language")
                return
            if is_unknown(value) and not isinstance(getattr(value, "type", None), TupleT):
                for e in elts:
                    assign(f, e, unknown())
                return
            parts = f.components(value, len(elts))
            if parts is None:
                have = type_or_none(value)
                f.problem(target, f"this takes {len(elts)} values apart, but gets {describe(have)}")
                parts = [unknown()] * len(elts)
            for e, v in zip(elts, parts, strict=True):
                assign(f, e, v)
        case _:
            f.problem(target, "only names can be assigned to: the language is pure", "build a new value, or a new list")


def _append(f: Frame, s: ast.stmt, owner: ast.expr, item: ast.expr) -> None:
    if not isinstance(owner, ast.Name) or owner.id not in f.env:
        f.problem(s, "`append` is for a list made in the same function")
        return
    xs, v = f.env[owner.id], expression(f, item)
    if isinstance(xs, TupleV):
        f.env[owner.id] = TupleV((*xs.items, v))
        return
    t = type_or_none(xs)
    if not isinstance(t, ListT):
        if not is_unknown(xs):
            f.problem(s, f"`append` is for lists, not {describe(t)}")
        return
    if is_unknown(v) and not isinstance(type_or_none(v), ListT):
        return
    joined = ListT(f.common([t.item, type_of(v)]))
    if contains_unknown(joined):
        f.env[owner.id] = Dyn(n.Var("[]", joined))
        return
    xs = f.coerce(xs, joined)
    f.env[owner.id] = f.host("list.append", [xs, f.coerce(v, joined.item)], joined, owner.id)


# ---- branches that go on


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """The names a body may assign, in order of first appearance."""
    out: dict[str, None] = {}
    for node in nodes:
        for sub in ast.walk(node):
            match sub:
                case ast.Name(name, ast.Store()):
                    out[name] = None
                case ast.Call(ast.Attribute(ast.Name(name), "append")):
                    out[name] = None
                case ast.MatchAs(name=str(name)):
                    out[name] = None
    return list(out)


def _bind_if(f: Frame, s: ast.If, cond: Value, arm: Callable[[Sequence[ast.stmt]], Value]) -> Value:
    from backends.acrobat.frontend.expressions import choose

    return choose(f, s, cond, lambda: arm(s.body), lambda: arm(s.orelse))


def _merging(f: Frame, s: ast.If | ast.Match, branch: Callable[[Callable[[Sequence[ast.stmt]], Value]], Value]) -> None:
    """Run a branching statement and bring the names its arms assign back into scope."""
    names = assigned([s])
    before = dict(f.env)
    # What every arm defines, with values that can be merged, lives on; the rest is poisoned.
    seen: list[dict[str, Value]] = []

    def probe(body: Sequence[ast.stmt]) -> Value:
        execute(f, body, None)
        seen.append({name: f.env[name] for name in names if name in f.env})
        return Static(0)

    problems = len(f.program.problems)
    with f.branch():
        branch(probe)
    del f.program.problems[problems:]
    live, fixed = [], {}
    for name in names:
        values = [env.get(name) for env in seen]
        if any(v is None for v in values):
            if name in f.env or any(values):
                f.poisoned[name] = "is assigned on some paths only"
                f.env.pop(name, None)
            continue
        same = all(v == values[0] for v in values)
        if same and (not isinstance(values[0], Dyn) or values[0] == before.get(name)):
            fixed[name] = values[0]
            continue
        try:
            f.common([type_of(v) for v in values if v is not None])
        except Mismatch as error:
            f.poisoned[name] = f"has different types on different paths ({error})"
            f.env.pop(name, None)
            continue
        live.append(name)

    def arm(body: Sequence[ast.stmt]) -> Value:
        execute(f, body, None)
        return TupleV(tuple(f.env[name] for name in live))

    poisoned = dict(f.poisoned)
    env = dict(f.env)
    f.env = before
    value = branch(arm)
    f.poisoned = poisoned
    f.env = {k: v for k, v in env.items() if k not in live}
    for name, v in fixed.items():
        if v is not None:
            f.env[name] = v
    parts = (
        f.components(value, len(live)) if not is_unknown(value) or isinstance(getattr(value, "type", None), TupleT) else None
    )
    for i, name in enumerate(live):
        part = parts[i] if parts is not None else unknown()
        f.env[name] = _named(f, part, name)


def _named(f: Frame, value: Value, name: str) -> Value:
    """Give a fresh projection the source's name."""
    if isinstance(value, Dyn) and f.builder.bindings and f.builder.bindings[-1][0] == value.atom:
        return value
    return value


# ---- loops


def execute_loop(f: Frame, s: ast.AST, target: ast.expr, xs: Value, body: Sequence[ast.stmt]) -> None:
    """`for target in xs: body`."""
    if isinstance(xs, TupleV):
        for item in xs.items:
            assign(f, target, item)
            if any(escapes(b) for b in body):
                f.problem(s, "a loop over a tuple or module list is unrolled and cannot be left early", "use `if` inside it")
                return
            execute(f, body, None)
        return
    if is_unknown(xs):
        item_type = getattr(getattr(xs, "type", None), "item", None)
        if item_type is None or contains_unknown(item_type):
            for name in assigned([target, *body]):
                if name in f.env and isinstance(f.env[name], Dyn) and not isinstance(type_or_none(f.env[name]), ListT):
                    f.env[name] = unknown()
            f.program.incomplete = True
            return
    assert isinstance(xs, Dyn)
    assert isinstance(xs.type, ListT)
    leaves = any(escapes(b) for b in body)
    breaks = any(_breaks(b) for b in body)
    carried, types = _carried(f, s, target, xs.type.item, body, leaves)
    if types is None:
        return
    done_type = (BOOL,) if breaks else ()
    var = n.Var(f.names.fresh(_hint(target) if _hint(target) not in ("", "_") else "item"), xs.type.item)
    variables = [n.Var(f.names.fresh(name), t) for name, t in zip(carried, types, strict=True)]
    done = n.Var(f.names.fresh("done"), BOOL)
    inits = [f.try_atom(f.coerce(f.env[name], t), s) for name, t in zip(carried, types, strict=True)]
    with f.branch() as b:
        for name, v in zip(carried, variables, strict=True):
            f.env[name] = Dyn(v)
        if breaks:
            from backends.acrobat.frontend.expressions import choose

            unchanged = TupleV((*(Dyn(v) for v in variables), Static(True)))
            value = choose(
                f,
                s,
                Dyn(done),
                lambda: unchanged,
                lambda: _iteration(f, target, Dyn(var), body, carried, types, leaves, breaks),
            )
        else:
            value = _iteration(f, target, Dyn(var), body, carried, types, leaves, breaks)
        body_type = TupleT((*types, *done_type))
        try:
            result = b.finish(f.atom(f.coerce(value, body_type)) if not is_unknown(value) else unknown().atom)
        except Mismatch as error:
            f.problem(s, str(error))
            return
    all_vars = (*variables, done) if breaks else tuple(variables)
    all_init = (*inits, n.Lit(False, BOOL)) if breaks else tuple(inits)
    folded = f.bind(n.Fold(var, xs.atom, all_vars, all_init, result, body_type, span=f.span), "loop")
    _after(f, carried, types, folded, target, body)


def _breaks(node: ast.AST) -> bool:
    """Whether a statement may leave the loop it stands in by `break`."""
    match node:
        case ast.Break():
            return True
        case ast.For() | ast.While():
            return False
    return any(_breaks(child) for child in ast.iter_child_nodes(node))


def _iteration(
    f: Frame,
    target: ast.expr | None,
    item: Value | None,
    body: Sequence[ast.stmt],
    carried: Sequence[str],
    types: Sequence[Any],
    leaves: bool,
    breaks: bool,
) -> Value:
    """One round of a loop: the tuple of the carried names' new values, and whether the loop was left."""
    if target is not None and item is not None:
        assign(f, target, item)

    def leave(done: bool) -> Value:
        values: list[Value] = []
        for name, t in zip(carried, types, strict=True):
            value = f.env.get(name)
            if value is None:
                value = f.problem(f.span, f"`{name}` {f.poisoned.get(name, 'is not assigned here')}", "assign it on every path")
            values.append(f.coerce(value, t))
        return TupleV((*values, Static(done))) if breaks else TupleV(tuple(values))

    if not leaves:
        execute(f, body, None)
        return leave(False)
    return _value(f, body, Exits(lambda: leave(False), None, lambda: leave(True), lambda: leave(False)))


def _carried(
    f: Frame, s: ast.AST, target: ast.expr | None, item: Any, body: Sequence[ast.stmt], leaves: bool
) -> tuple[list[str], list[Any] | None]:
    """The names a loop carries from round to round, and their types: found by compiling the body until nothing changes."""
    names = assigned(body)
    own = set(assigned([target])) if target is not None else set()
    carried = [name for name in names if name in f.env and name not in own and not isinstance(f.env[name], (Module, Method))]
    types: list[Any] = []
    for name in list(carried):
        try:
            types.append(type_of(f.env[name]))
        except Mismatch:
            carried.remove(name)
    for _ in range(8):
        outcomes: list[dict[str, Value]] = []

        def record(outcomes: list[dict[str, Value]] = outcomes) -> Value:
            outcomes.append(dict(f.env))
            return Static(0)

        problems = len(f.program.problems)
        with f.branch():
            for name, t in zip(carried, types, strict=True):
                f.env[name] = Dyn(n.Var(f.names.fresh(name), t))
            if target is not None:
                assign(f, target, Dyn(n.Var(f.names.fresh("item"), item)))
            if leaves:
                execute(f, body, Exits(record, lambda r: record(), record, record))
            else:
                execute(f, body, None)
                record()
        del f.program.problems[problems:]
        new, dropped = [], []
        for name, t in zip(carried, types, strict=True):
            for env in outcomes:
                if name not in env:
                    continue
                try:
                    t = f.common([t, type_of(env[name])])
                except Mismatch:
                    dropped.append(name)
                    break
            new.append(t)
        kept = [(name, t) for name, t in zip(carried, new, strict=True) if name not in dropped]
        for name in dropped:
            f.env.pop(name, None)
            f.poisoned[name] = "changes its type in the loop"
        if not dropped and new == types:
            break
        carried, types = [name for name, _ in kept], [t for _, t in kept]
    if any(contains_unknown(t) for t in types):
        f.program.incomplete = True
        # Go on with what is known: later rounds of the whole compilation know more.
        for name, t in zip(carried, types, strict=True):
            f.env[name] = Dyn(n.Var("?", t)) if isinstance(t, (ListT, TupleT)) else unknown()
        for name in names:
            if name not in carried:
                f.env.pop(name, None)
        return carried, None
    return carried, types


def _after(
    f: Frame, carried: Sequence[str], types: Sequence[Any], loop: Dyn, target: ast.expr | None, body: Sequence[ast.stmt]
) -> None:
    """Bring the carried names' last values into scope; other names of the loop are gone."""
    for i, (name, t) in enumerate(zip(carried, types, strict=True)):
        f.env[name] = f.bind(n.Field(loop.atom, i, t, span=f.span), name)
    for name in assigned([*([target] if target is not None else []), *body]):
        if name not in carried:
            f.env.pop(name, None)
            f.poisoned.setdefault(name, "is assigned inside a loop only")


def execute_while(f: Frame, s: ast.While, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """`while test: body`; a `break` makes the condition false."""
    leaves, breaks = any(escapes(b) for b in body), any(_breaks(b) for b in body)
    carried, types = _carried(f, s, None, None, body, leaves)
    if types is None:
        return
    variables = [n.Var(f.names.fresh(name), t) for name, t in zip(carried, types, strict=True)]
    done = n.Var(f.names.fresh("done"), BOOL)
    inits = [f.try_atom(f.coerce(f.env[name], t), s) for name, t in zip(carried, types, strict=True)]

    def scope() -> None:
        for name, v in zip(carried, variables, strict=True):
            f.env[name] = Dyn(v)

    from backends.acrobat.frontend.expressions import choose

    with f.branch() as b:
        scope()
        if breaks:
            truth = choose(f, s, Dyn(done), lambda: Static(False), lambda: f.condition(expression(f, test), test))
        else:
            truth = f.condition(expression(f, test), test)
        cond = b.finish(f.try_atom(truth, test))
    with f.branch() as b:
        scope()
        value = _iteration(f, None, None, body, carried, types, leaves, breaks)
        body_type = TupleT((*types, *((BOOL,) if breaks else ())))
        result = b.finish(unknown().atom if is_unknown(value) else f.atom(f.coerce(value, body_type)))
    all_vars = (*variables, done) if breaks else tuple(variables)
    all_init = (*inits, n.Lit(False, BOOL)) if breaks else tuple(inits)
    loop = f.bind(n.Loop(all_vars, all_init, cond, result, body_type, span=f.span), "loop")
    _after(f, carried, types, loop, None, body)


__all__ = ["Exits", "assign", "execute", "execute_loop", "free_vars", "join_types"]
