"""`for` and `while` loops that run at run time: the names that they carry from round to round, and `break` and `return`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.evaluator.changes.scope import assign, changed_in
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail, open_optional
from backends.acrobat.frontend.evaluator.conditions.conditions import truth
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.loops.types_at_exits import fits, value_after
from backends.acrobat.frontend.evaluator.loops.variables import (
    Carried,
    LoopStatement,
    carried_names,
    enter_round,
    none_as_number,
    opened_by_test,
)
from backends.acrobat.frontend.evaluator.loops.watched import Watched, check, watched
from backends.acrobat.frontend.evaluator.ownership.elements import note_walked
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, ends, hint_of, leaves, placed, stored
from backends.acrobat.frontend.evaluator.syntax.hidden_names import RETURNED
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.kinds import is_list, is_unknown, type_or_none
from backends.acrobat.frontend.source import span_of
from backends.acrobat.frontend.syntax_nodes import children, every_node
from backends.acrobat.frontend.types import NONE, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess, held_in, unknown
from backends.acrobat.ir import nodes as n


def loop(f: Frame, s: LoopStatement, xs: Value | None) -> None:
    """Compile a `for` loop over the list `xs`, or a `while` loop (`xs` None). The carried names' last values stay in scope."""
    item = getattr(type_or_none(xs), "item", None) if xs is not None else None
    if xs is not None and (item is None or contains_unknown(item)):
        _skip(f, s)
        return
    quits = any(ends(b) for b in s.body)
    lists = watched(f, s)
    loop_names = carried_names(f, s, item)
    carried, types, untyped = loop_names.names, loop_names.types, loop_names.untyped
    if any(contains_unknown(t) for t in types):
        _skip(f, s, dict(zip(carried, types, strict=True)))
        return
    inits = [f.try_atom(f.coerce(f.env[name], t), s) for name, t in zip(carried, types, strict=True)]
    variables = [f.var(name, t) for name, t in zip(carried, types, strict=True)]
    lost = [f.var(name, BOOL) for name in untyped]
    all_vars, all_inits = (*variables, *lost), (*inits, *(n.Lit(False, BOOL) for _ in lost))
    body_type = TupleT((*types, *(BOOL for _ in lost)))
    done = None
    if quits:
        done = f.var("done", BOOL)
        all_vars, all_inits, body_type = (*all_vars, done), (*all_inits, n.Lit(False, BOOL)), TupleT((*body_type.items, BOOL))
    scope = {name: held_in(Dyn(v)) for name, v in zip(carried, variables, strict=True)}
    unchanged = TupleV(tuple(held_in(Dyn(v)) for v in all_vars))

    def enter() -> None:
        enter_round(f, scope, loop_names.sizes, loop_names.alike)

    if isinstance(s, ast.For):
        assert isinstance(xs, Dyn)
        var = f.var(hint_of(s.target) if hint_of(s.target) not in ("", "_") else "item", item)

        def once() -> Value:
            enter()
            return _round(f, s, held_in(Dyn(var)), scope, loop_names, quits, lists)

        body = _body(f, body_type, lambda: once() if done is None else choose(f, s, Dyn(done), lambda: unchanged, once))
        expression: n.Expr = n.Fold(var, xs.atom, all_vars, all_inits, body, body_type, span=f.span)
    else:
        test = s.test
        with f.branch() as b:
            enter()
            going = truth(f, test) if done is None else choose(f, s, Dyn(done), lambda: Static(False), lambda: truth(f, test))
            cond = b.finish(f.try_atom(going, test))

        def next_round() -> Value:
            enter()
            return opened_by_test(f, s, lambda: _round(f, s, None, scope, loop_names, quits), lambda: unchanged)

        expression = n.Loop(all_vars, all_inits, cond, _body(f, body_type, next_round), body_type, span=f.span)
    _note_lost(f, s)
    _bind_last_values(f, s, loop_names, f.bind(expression, "loop").atom)


def _note_lost(f: Frame, s: LoopStatement) -> None:
    """Note the claims that hold at the beginning of the round just compiled and not at its end. The trials have removed the
    claims that one round ends; these are those that only a later one ends, as in `b = a; a = shared`. When the loop is compiled
    again, no round begins with them."""
    if lost := f.owned - f.owned_at_end:
        if not f.trials and not f.program.incomplete:
            f.program.lost_in_rounds.setdefault((f.key, span_of(s, f.file)), set()).update(lost)
            f.program.changed = True


def _bind_last_values(f: Frame, s: LoopStatement, carried: Carried, result: n.Atom) -> None:
    """Give the names the values that they have after a loop, whose value is `result`."""
    for name in assigned(_inside(s)):
        if name in f.env and type_or_none(f.env[name]) is None and name not in stored(_inside(s)) or name in carried.untouched:
            continue
        f.env.pop(name, None)
        f.owned -= claims(name) if name not in carried.names else set()
        f.poisoned.setdefault(name, ("is assigned inside a loop only", "assign it before the loop"))
    names_and_types = enumerate(zip(carried.names, carried.types, strict=True))
    last = {name: f.bind(n.Field(result, i, t, span=f.span), name) for i, (name, t) in names_and_types}
    after: dict[str, Value] = dict(last)
    for i, name in enumerate(carried.untyped, len(carried.names)):
        differs = f.bind(n.Field(result, i, BOOL, span=f.span), name)
        after[name] = value_after(f, s, name, differs, held_in(last[name]), carried.ways)
    enter_round(f, after, carried.sizes, carried.alike)


def tested_in_body(f: Frame, s: LoopStatement) -> LoopStatement:
    """The loop; a `while` loop whose test changes a list or an object gets its test in the body, because only what the body
    changes is carried to the next round."""
    if (
        not isinstance(s, ast.While)
        or not any(isinstance(x, ast.Call) for x in every_node(s.test))
        or not changed_in(f, [s.test])
    ):
        return s
    with f.changes(counted=False) as changed, f.trial():
        truth(f, s.test)
        unchanging = changed.isdisjoint(f.env)
    if unchanging:
        return s
    leave = ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Break()], [])
    endless = placed(s, ast.copy_location(ast.While(ast.Constant(True), [leave, *s.body], s.orelse), s))
    assert isinstance(endless, ast.While)
    return endless


def loop_with_return(
    f: Frame, s: LoopStatement, xs: Value | None, returns: Callable[[ast.AST, Value], Value], go_on: Callable[[], Value]
) -> Value:
    """Compile a loop with `return` inside: `returns` compiles what follows with a result, `go_on` what follows without one."""
    if f.in_place:
        what = "a function that gives a function is left here inside of a loop"
        raise Refused(what, "leave the loop by `break`, and the function behind it")
    if _left_by_return_alone(s):

        def go_on() -> Value:  # nothing follows without a result
            return fail(f, "RuntimeError: a loop without an end has ended")

    if contains_unknown(f.result):
        with f.trial():  # it may find the type of the result
            carried_names(f, s, getattr(type_or_none(xs), "item", None) if xs is not None else None)
    if contains_unknown(f.result):
        _skip(f, s)
        return go_on()
    outer = f.env.get(RETURNED)
    f.env[RETURNED] = nothing_returned(f)
    loop(f, s, xs)
    returned = f.env.pop(RETURNED)
    if outer is not None:
        f.env[RETURNED] = outer
    if not isinstance(returned, Dyn) or is_unknown(returned):
        return go_on()
    return open_optional(f, s, returned, lambda some: returns(s, some), go_on, "result")


def nothing_returned(f: Frame) -> Value:
    """The value of RETURNED before a statement in which a `return` may give it one: None as an optional result."""
    return f.bind(n.Construct("None", (), f.program.datatypes.optional(f.result), span=f.span), "returned")


def keep_returned(f: Frame, at: ast.AST, value: Value) -> Value | None:
    """Keeps in RETURNED what is returned at `at`, for behind the statement that it stands in. Gives the value that the body has
    instead if that is not possible, since the type is wrong or not known yet; else None."""
    if is_unknown(value) and not is_list(value):
        return unknown()
    value = none_as_number(f, at, value)
    t = f.program.datatypes.optional(f.result)
    try:
        atom = f.atom(f.coerce(value, f.result))
    except Mismatch as error:
        return f.problem(at, f"the result of `{f.what}`: {error}")
    f.env[RETURNED] = f.bind(n.Construct("Some", (atom,), t, span=f.span), "returned")
    return None


def _left_by_return_alone(s: LoopStatement) -> bool:
    """Whether a loop is `while True` without a `break` of its own."""
    if not (isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value):
        return False
    return not any(_breaks(b) for b in s.body)


def _breaks(node: ast.AST) -> bool:
    """Whether a `break` in a statement ends the loop that the statement stands in."""
    if isinstance(node, (ast.For, ast.While)):
        return any(_breaks(b) for b in node.orelse)
    return isinstance(node, ast.Break) or any(_breaks(child) for child in children(node))


def _inside(s: LoopStatement) -> list[ast.AST]:
    return [s.target, *s.body] if isinstance(s, ast.For) else list(s.body)


def _body(f: Frame, type: TupleT, round: Callable[[], Value]) -> n.Expr:
    with f.branch() as b:
        value = round()
        return b.finish(unknown().atom if is_unknown(value) else f.atom(f.coerce(value, type)))


def _round(
    f: Frame,
    s: LoopStatement,
    item: Value | None,
    start: Mapping[str, Value],
    carried: Carried,
    quits: bool,
    lists: Sequence[Watched] = (),
) -> Value:
    """Compile one round, which begins with the values in `start` and leaves `lists` as long as they are. Gives the tuple of the
    carried names' new values, whether each of the names that are `untyped` has none, and, with `quits`, if it ends."""
    if isinstance(s, ast.For) and item is not None:
        assign(f, s.target, item)
        note_walked(f, s.target, s.iter, item)

    def leave(done: bool) -> Value:
        if not done:
            check(f, s, lists)
        values: list[Value] = []
        lost = dict.fromkeys(carried.untyped, False)
        for name, t in zip(carried.names, carried.types, strict=True):
            value = f.env.get(name)
            if done and name in carried.differing and not fits(f, value, t):
                value, lost[name] = start[name], True
            if value is None:
                why, advice = f.poisoned.get(name, ("is not assigned here", "assign it on every path"))
                value = f.problem(f.span, f"{f.shown(name)} {why}", advice)
            values.append(f.coerce(value, t))
        values += [Static(lost[name]) for name in carried.untyped]
        return TupleV((*values, Static(done))) if quits else TupleV(tuple(values))

    def returns(at: ast.AST, value: Value) -> Value:
        failed = keep_returned(f, at, value)
        return leave(True) if failed is None else failed

    if any(leaves(b) for b in s.body):
        return f.value_of(s.body, Exits(lambda: leave(False), returns, lambda: leave(True), lambda: leave(False)))
    f.straight(s.body)
    return leave(False)


def _skip(f: Frame, s: LoopStatement, types: dict[str, Any] | None = None) -> None:
    """Go on after a loop whose types are not known in this round of compiling, as if the names assigned in it kept their
    types."""
    f.program.incomplete = True
    unclear = [name for name, t in (types or {}).items() if contains_unknown(t)]
    if unclear and not f.trials:
        why = Problem(f.span, f"the type of {f.shown(unclear[0])} cannot be found", "annotate it: `xs: list[int] = []`")
        f.program.lost = f.cause or why
    if not f.trials:
        for problem in f.in_called:
            f.program.problem(problem)
    for name in assigned(_inside(s)):
        if name in f.env:
            t = (types or {}).get(name, type_or_none(f.env[name]))
            owned = claims(name) & f.owned
            f.rebind(name, unknown() if t is None or t is NONE else guess(t))
            f.owned |= owned  # a later round of compiling knows the types, and finds out whether the loop ends that
