"""`for` and `while` loops that run at run time: the names that they carry from round to round, and `break` and `return`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, TypeAlias

from backends.acrobat.core.types import BOOL, INT, DataT, ListT, TensorT, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.frontend.evaluator import nested
from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.choice import choose, open_optional, optional
from backends.acrobat.frontend.evaluator.conditions import truth
from backends.acrobat.frontend.evaluator.desugar import is_generator
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import iterable
from backends.acrobat.frontend.evaluator.narrowing import class_key, of_class
from backends.acrobat.frontend.evaluator.ownership import holds_parts, seen_inside, seen_through_view
from backends.acrobat.frontend.evaluator.picking import picks_modules
from backends.acrobat.frontend.evaluator.scope import assign, changed_in, lives
from backends.acrobat.frontend.evaluator.syntax import (
    RETURNED,
    assigned,
    begins_anew,
    claims,
    ends,
    hint_of,
    leaves,
    root_of,
    stored,
)
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.specials import Method, Nested
from backends.acrobat.frontend.types import NONE, UNASSIGNED, Mismatch, contains_unknown, join_types
from backends.acrobat.frontend.values import (
    NOTHING,
    Dyn,
    Static,
    TupleV,
    Value,
    guess,
    held_in,
    is_empty,
    is_list,
    is_unknown,
    known,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n

LoopStatement: TypeAlias = ast.For | ast.While
TRIALS = 8
"""Rounds of a loop, and one more for each name that it carries, after which the types of these names must have settled: types
only widen, from int to float, say, and in each round one name at least takes the type of another. What has not settled by then
is an error that names it."""


def iterated(f: Frame, s: ast.For) -> Value:
    """What the `for` loop `s` iterates: a list of the program, or a tuple to unroll the loop over. Raises Refused."""
    value = f.borrowed(s.iter)
    changed = assigned(s.body)
    for name in _running_over(s.iter):
        if name in changed:
            f.owned.discard(name)  # the body may not change the list: Python's loop would notice
    for call in (x for x in ast.walk(s.iter) if isinstance(x, ast.Call)):
        fed = [name for name in _seen_by_generator(f, call) if name in changed or name in changed_in(f, s.body)]
        if fed:
            raise Refused(f"`{fed[0]}` is changed while a generator that sees it is walked over", "write `list(...)` around it")
    if isinstance(s.iter, (ast.Name, ast.Subscript, ast.Attribute)) and holds_parts(f, value):
        seen_inside(f, s.iter, getattr(type_or_none(value), "item", None))  # the loop's variable refers to a part
    seen_through_view(f, s.iter)
    if (
        isinstance(value, Static)
        and isinstance(value.value, range)
        and (picks_modules(f, s.target, s.body) or _cuts_blocks(s, value.value) or _needs_rounds(f, s, value.value))
    ):
        return TupleV(tuple(map(Static, value.value)))
    return iterable(f, value)


def _seen_by_generator(f: Frame, call: ast.Call) -> list[str]:
    """The names whose values a generator function that `call` calls gets or sees; [] for calls of other functions."""
    with f.trial():
        callee = f.borrowed(call.func)
    match callee:
        case Nested(definition):
            if not is_generator(definition):
                return []
            names = nested.captured(f, callee) if callee.env is None else []
        case Static(FunctionType() as function) | Method(function=FunctionType() as function):
            if not function.__code__.co_flags & inspect.CO_GENERATOR:
                return []
            names = []
        case _:
            return []
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [*call.args, *(k.value for k in call.keywords), *receiver]
    return names + [name for name in map(root_of, given) if name is not None and name != "self"]


def _running_over(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(name):
            return [name]
        case ast.Call(ast.Name("zip" | "enumerate" | "reversed"), args):
            return [name for a in args for name in _running_over(a)]
    return []


UNROLLED = 64
"""The most rounds of a loop over a constant range that is unrolled because its body needs to know the round."""


def _cuts_blocks(s: ast.For, rounds: range) -> bool:
    """Whether the body takes a block of something by the round, as in `x[h * d : (h + 1) * d]`: blocks have fixed extents where
    the round is known."""

    def by_round(bounds: Sequence[ast.expr | None]) -> bool:
        names = [{x.id for x in ast.walk(b) if isinstance(x, ast.Name)} if b is not None else set[str]() for b in bounds]
        return len(bounds) == 2 and all(isinstance(s.target, ast.Name) and s.target.id in found for found in names)

    slices = [
        (x.lower, x.upper) if isinstance(x, ast.Slice) else x.args
        for b in s.body
        for x in ast.walk(b)
        if isinstance(x, ast.Slice) or isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "slice"
    ]
    return 0 < len(rounds) <= UNROLLED and any(map(by_round, slices))


def _needs_rounds(f: Frame, s: ast.For, rounds: range) -> bool:
    """Whether the body cannot be compiled for a round that is known at run time only: it may name an attribute by the round, or
    change the shape of a tensor. Found by compiling it for such a round, in a trial."""
    if not 0 < len(rounds) <= UNROLLED or not isinstance(s.target, ast.Name):
        return False
    if s not in f.unrolled:
        changed = [x for x in changed_in(f, s.body) if x in f.env]
        before = {x: type_or_none(f.env[x]) for x in changed}
        ways: list[dict[str, Value]] = []
        (cause, f.cause), earlier, problems = (f.cause, None), f.mutated, len(f.program.problems)
        f.mutated = set()
        with f.trial():
            assign(f, s.target, Dyn(f.var(s.target.id, INT)))
            for x in changed:  # a number that each round changes, as `size *= 2` does, is not known in the loop
                if isinstance(known(f.env[x])[1], (int, float)):
                    f.rebind(x, Dyn(f.var(x, type_of(f.env[x]))))
            _trial(f, s, ways)
        failed = f.cause is not None or len(f.program.problems) > problems
        del f.program.problems[problems:]
        f.cause, f.mutated = cause, earlier
        for x, t in before.items():
            try:
                joined = f.common([t, *(type_of(env[x]) for env in ways if x in env)], numbers=True)
            except Mismatch:
                failed = True
            else:
                failed |= isinstance(t, TensorT) and isinstance(joined, ListT)  # its shape changes
        f.unrolled[s] = failed
    return f.unrolled[s]


def loop(f: Frame, s: LoopStatement, xs: Value | None) -> None:
    """Compile a `for` loop over the list `xs`, or a `while` loop (`xs` None). The carried names' last values stay in scope."""
    item = getattr(type_or_none(xs), "item", None) if xs is not None else None
    if xs is not None and (item is None or contains_unknown(item)):
        _skip(f, s)
        return
    quits = any(ends(b) for b in s.body)
    carried, types, untouched = _carried(f, s, item)
    if any(contains_unknown(t) for t in types):
        _skip(f, s, dict(zip(carried, types, strict=True)))
        return
    inits = [f.try_atom(f.coerce(f.env[name], t), s) for name, t in zip(carried, types, strict=True)]
    variables = [f.var(name, t) for name, t in zip(carried, types, strict=True)]
    all_vars, all_inits, body_type = tuple(variables), tuple(inits), TupleT(tuple(types))
    done = None
    if quits:
        done = f.var("done", BOOL)
        all_vars, all_inits, body_type = (*all_vars, done), (*all_inits, n.Lit(False, BOOL)), TupleT((*types, BOOL))
    scope = {name: held_in(Dyn(v)) for name, v in zip(carried, variables, strict=True)}
    unchanged = TupleV(tuple(held_in(Dyn(v)) for v in all_vars))

    def enter() -> None:
        _enter(f, scope)

    if isinstance(s, ast.For):
        assert isinstance(xs, Dyn)
        var = f.var(hint_of(s.target) if hint_of(s.target) not in ("", "_") else "item", item)

        def once() -> Value:
            enter()
            return _round(f, s, held_in(Dyn(var)), carried, types, quits)

        body = _body(f, s, body_type, lambda: once() if done is None else choose(f, s, Dyn(done), lambda: unchanged, once))
        made: n.Expr = n.Fold(var, xs.atom, all_vars, all_inits, body, body_type, span=f.span)
    else:
        test = s.test
        with f.branch() as b:
            enter()
            going = truth(f, test) if done is None else choose(f, s, Dyn(done), lambda: Static(False), lambda: truth(f, test))
            cond = b.finish(f.try_atom(going, test))

        def again() -> Value:
            enter()
            return _opened(f, s, lambda: _round(f, s, None, carried, types, quits), lambda: unchanged)

        made = n.Loop(all_vars, all_inits, cond, _body(f, s, body_type, again), body_type, span=f.span)
    result = f.bind(made, "loop")
    for name in assigned(_inside(s)):
        if name in f.env and type_or_none(f.env[name]) is None and name not in stored(_inside(s)) or name in untouched:
            continue
        f.env.pop(name, None)
        f.owned -= claims(name) if name not in carried else set()
        f.poisoned.setdefault(name, ("is assigned inside a loop only", "assign it before the loop"))
    for i, (name, t) in enumerate(zip(carried, types, strict=True)):
        owned = claims(name) & f.owned
        f.rebind(name, f.bind(n.Field(result.atom, i, t, span=f.span), name))
        f.owned |= owned


def loop_with_return(
    f: Frame, s: LoopStatement, xs: Value | None, returns: Callable[[ast.AST, Value], Value], go_on: Callable[[], Value]
) -> Value:
    """Compile a loop with `return` inside: `returns` compiles what follows with a result, `go_on` what follows without one."""
    if contains_unknown(f.result):
        with f.trial():  # it may find the type of the result
            _carried(f, s, getattr(type_or_none(xs), "item", None) if xs is not None else None)
    if contains_unknown(f.result):
        _skip(f, s)
        return go_on()
    outer = f.env.get(RETURNED)
    f.env[RETURNED] = f.bind(n.Construct("None", (), f.program.datatypes.optional(f.result), span=f.span), "returned")
    loop(f, s, xs)
    found = f.env.pop(RETURNED)
    if outer is not None:
        f.env[RETURNED] = outer
    if not isinstance(found, Dyn) or is_unknown(found):
        return go_on()
    return open_optional(f, s, found, lambda some: returns(s, some), go_on, "result")


def _enter(f: Frame, values: Mapping[str, Value]) -> None:
    """Bind the carried names to their values at the start of a round. A name that owned its list still does."""
    owned = f.owned & {x for name in values for x in claims(name)}
    for name, value in values.items():
        f.rebind(name, value)
    f.owned |= owned


def _inside(s: LoopStatement) -> list[ast.AST]:
    return [s.target, *s.body] if isinstance(s, ast.For) else list(s.body)


def _body(f: Frame, s: LoopStatement, type: TupleT, round: Callable[[], Value]) -> n.Expr:
    with f.branch() as b:
        value = round()
        return b.finish(unknown().atom if is_unknown(value) else f.atom(f.coerce(value, type)))


def _round(f: Frame, s: LoopStatement, item: Value | None, carried: Sequence[str], types: Sequence[Any], quits: bool) -> Value:
    """Compile one round. Gives the tuple of the carried names' new values and, with `quits`, whether the loop ends."""
    if isinstance(s, ast.For) and item is not None:
        assign(f, s.target, item)

    def leave(done: bool) -> Value:
        values: list[Value] = []
        for name, t in zip(carried, types, strict=True):
            value = f.env.get(name)
            if value is None:
                why, advice = f.poisoned.get(name, ("is not assigned here", "assign it on every path"))
                value = f.problem(f.span, f"`{name}` {why}", advice)
            values.append(f.coerce(value, t))
        return TupleV((*values, Static(done))) if quits else TupleV(tuple(values))

    def returns(at: ast.AST, value: Value) -> Value:
        if is_unknown(value) and not is_list(value):
            return unknown()
        t = f.program.datatypes.optional(f.result)
        try:
            atom = f.atom(f.coerce(value, f.result))
        except Mismatch as error:
            return f.problem(at, f"the result of `{f.what}`: {error}")
        f.env[RETURNED] = f.bind(n.Construct("Some", (atom,), t, span=f.span), "returned")
        return leave(True)

    if any(leaves(b) for b in s.body):
        return f.value_of(s.body, Exits(lambda: leave(False), returns, lambda: leave(True), lambda: leave(False)))
    f.straight(s.body)
    return leave(False)


def _opened(f: Frame, s: ast.While, then: Callable[[], Value], orelse: Callable[[], Value], start: int = 0) -> Value:
    """`then()`, where each name that the test of the `while` loop compares with None, or whose class it asks for, is of the
    type that the test says; `orelse()` where it is not. Of a test with `and` the parts from `start` on count."""
    tests = s.test.values if isinstance(s.test, ast.BoolOp) and isinstance(s.test.op, ast.And) else [s.test]
    for k, test in enumerate(tests[start:], start):
        match test:
            case ast.Call(ast.Name("isinstance"), [ast.Name(name), classes], []) if f.is_builtin("isinstance"):
                value = f.env.get(name)
                if isinstance(value, Dyn) and isinstance(value.type, DataT) and class_key(name) not in f.env:
                    others = partial(_opened, f, s, then, orelse, k + 1)
                    return of_class(f, s, value, name, f.borrowed(classes), others, orelse)
            case ast.Compare(ast.Name(name), [ast.IsNot()], [ast.Constant(None)]):
                value = f.env.get(name)
                if isinstance(value, Dyn) and optional(f, value) is not None:

                    def some(inner: Value, name: str = name) -> Value:
                        f.env[name] = inner
                        return _opened(f, s, then, orelse)

                    return open_optional(f, s, value, some, orelse, name)
    return then()


def _carried(f: Frame, s: LoopStatement, item: Any) -> tuple[list[str], list[Any], list[str]]:
    """The names the loop carries from round to round, and their types: found by compiling the body until nothing changes. Last
    the names of empty lists that no round changes after all, as where `if self.trace: seen.append(h)` is never true."""
    own = set(assigned([s.target])) if isinstance(s, ast.For) else set()
    for name in stored(s.body):  # a module, a function: all rounds would be compiled with the one from before the loop
        if name in f.env and type_or_none(f.env[name]) is None:
            del f.env[name]
            why = "holds something before this loop that is known at compile time only, and the loop assigns another value"
            f.poisoned[name] = why, "give what the loop assigns a name of its own"
    carried = [x for x in changed_in(f, s.body) if x in f.env and x not in own and type_or_none(f.env[x]) is not None]
    carried = [x for x in carried if lives(f, s, x) or not begins_anew(s, x)]
    later = [x for x in dict.fromkeys((*own, *changed_in(f, s.body))) if x not in carried and x != RETURNED and lives(f, s, x)]
    for name in later:  # read after the loop, and assigned if there was a round
        if name in f.env and type_or_none(f.env[name]) is None and name not in own | stored(s.body):
            continue  # a module with a method named as one that changes a list
        if name not in f.env or type_or_none(f.env[name]) is None:
            if name in f.poisoned:
                continue
            f.env[name] = NOTHING
        carried.append(name)
    first = {name: f.env[name] for name in carried}
    types = {name: type_of(value) for name, value in first.items()}
    trials = TRIALS + len(carried)
    for _ in range(trials):
        ways: list[dict[str, Value]] = []
        unfilled = [name for name, t in types.items() if is_empty(first[name]) and contains_unknown(t)]
        earlier, f.mutated = f.mutated, set()
        with f.trial():
            starts = {name: first[name] if name in unfilled else _start(f, name, t) for name, t in types.items()}
            _enter(f, starts)
            if isinstance(s, ast.For):
                assign(f, s.target, held_in(Dyn(f.var("item", item))))
                _trial(f, s, ways)
            else:
                _opened(f, s, lambda ways=ways: _trial(f, s, ways), lambda: Static(0))  # type: ignore[misc]
        if missed := sorted((f.mutated - set(carried)) & set(f.env)):
            f.problem(s, f"{f.shown(missed[0])} is changed in a loop in a way that is not followed", "assign it in the loop")
        f.mutated |= earlier
        f.owned &= f.owned_at_end
        before = dict(types)
        for name in before:
            after = [env[name] for env in ways if name in env]
            try:
                types[name] = f.common([types[name], *(type_of(v) for v in after)], numbers=True)
            except Mismatch:
                del types[name], f.env[name]
                f.owned.discard(name)
                why = f"does not keep its type in the loop: {f.places([first[name], *after])}"
                f.poisoned[name] = why, "give it the same type before the loop and after each round"
        if types == before:
            break
    else:
        for name in [name for name in types if types[name] != before[name]][:1]:
            what = f"the types in this loop have not settled after {trials} rounds: the last changed that of `{name}`"
            f.problem(s, what, "annotate it, or give it the same type before the loop and after each round")
    untouched = [name for name in unfilled if name in types and all(env.get(name) == first[name] for env in ways)]
    types = {name: t for name, t in types.items() if name not in untouched}
    return list(types), list(types.values()), untouched


def _start(f: Frame, name: str, type: Any) -> Value:
    """The value of a carried name at the start of a round, by its type."""
    if type is NONE:
        return Static(None)
    return NOTHING if type is UNASSIGNED else held_in(Dyn(f.var(name, type)))


def _trial(f: Frame, s: LoopStatement, ways: list[dict[str, Value]]) -> Value:
    """Compile a round to find types. At each end of the round the names in scope and their values are appended to `ways`."""

    def end() -> Value:
        ways.append(dict(f.env))
        return Static(0)

    def returns(at: ast.AST, value: Value) -> Value:
        t = type_or_none(value)
        try:
            f.result = join_types(f.result, t) if t is not None else f.result
        except Mismatch:
            pass  # reported when the loop is compiled for good
        return end()

    if any(leaves(b) for b in s.body):
        return f.value_of(s.body, Exits(end, returns, end, end))
    f.straight(s.body)
    return end()


def _skip(f: Frame, s: LoopStatement, types: dict[str, Any] | None = None) -> None:
    """Go on after a loop whose types are not known in this round of compiling, as if the names assigned in it kept theirs."""
    f.program.incomplete = True
    unclear = [name for name, t in (types or {}).items() if contains_unknown(t)]
    if unclear and not f.trials:
        why = Problem(f.span, f"the type of {f.shown(unclear[0])} cannot be found", "annotate it: `xs: list[int] = []`")
        f.program.lost = f.cause or why
    for name in assigned(_inside(s)):
        if name in f.env:
            t = (types or {}).get(name, type_or_none(f.env[name]))
            owned = claims(name) & f.owned
            f.rebind(name, unknown() if t is None or t is NONE else guess(t))
            f.owned |= owned  # a later round, which knows the types, finds out whether the loop ends that
