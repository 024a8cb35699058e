"""Choices at run time, by a condition, by an index, or by whether an optional is None; and the errors that a model raises."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from backends.acrobat.core.messages import Message
from backends.acrobat.core.types import BOOL, INT, DataT, ListT
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import (
    held_atoms,
    is_never,
    is_staged,
    is_unknown,
    known,
    nothing_known,
    retyped,
    type_or_none,
)
from backends.acrobat.frontend.specials import Closure, Method, Nested, OneOf
from backends.acrobat.frontend.types import NEVER, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, ListedV, Special, Static, TupleV, Value, guess, held_in, unknown
from backends.acrobat.ir import nodes as n

Arm = Callable[[], Value]  # compiles one arm of a choice and gives its value


def choose(f: Frame, node: ast.AST, cond: Value, then: Arm, orelse: Arm) -> Value:
    """`then() if cond else orelse()`, `cond` a bool of the host; if it is known at compile time, one arm only is compiled."""
    if isinstance(cond, Static):
        return then() if cond.value else orelse()
    return one_of(
        f, node, [then, orelse], lambda type, arms: n.If(f.atom(cond), arms[0], arms[1], type, span=f.span), is_unknown(cond)
    )


def one_of(
    f: Frame,
    node: ast.AST,
    arms: Sequence[Arm],
    build: Callable[[Any, list[n.Expr]], n.Expr],
    lost: bool = False,
    apart: bool = False,
) -> Value:
    """Compile `arms`, of which one is taken at run time, and bind the choice `build(type, bodies)`; `type` covers the arms'
    values. `lost`: the condition is not known in this round of compiling, and so the result is unknown. `apart`: an int that
    one arm gives stays one beside the float of another."""
    branches, owned, outside = [], [], set(f.names.taken)
    for arm in arms:
        with f.branch() as b:
            branches.append((b, arm()))
        owned.append(f.owned_at_end)
    f.owned = set.intersection(*owned)
    values = [v for _, v in branches]
    if lost:
        return _of_either(f, values)
    there = [v for v in values if not is_never(v)]
    # Equal values of two arms are made outside of both, but the only value that there is may be made in its arm.
    same = bool(there) and all(v == there[0] for v in there) and not isinstance(there[0], Dyn)
    alone = same and not is_staged(there[0]) and not isinstance(there[0], OneOf) and holds_only(there[0], outside)
    one = same and (len(there) > 1 or alone)
    if one and not any(b.bindings for b, _ in branches):
        return there[0]
    if one or not there:
        bodies: list[n.Expr] = []
        for b, v in branches:  # the value is known, or there is none: only whether an error is raised is decided at run time
            outer, f.builder = f.builder, b
            bodies.append(b.finish(f.atom(v if is_never(v) else Static(0))))
            f.builder = outer
        check = f.bind(build(INT, bodies), "check")
        return there[0] if there else retyped(check, NEVER)
    if are_functions(there):  # which one is decided now, what it is used for later
        if not all(holds_only(v, outside) for v in there):
            raise Refused("a function that is chosen here uses what only its branch has computed", "compute it before")
        numbers, alternatives = [], list[Value]()
        for b, v in branches:
            outer, f.builder = f.builder, b
            numbers.append(b.finish(f.atom(v if is_never(v) else _number_among(f, v, alternatives))))
            f.builder = outer
        return OneOf(f.bind(build(INT, numbers), "which"), tuple(alternatives))
    if len(there) > 1 and any(_are_different_functions(column) for column in _columns(f, there)):
        return _part_by_part(f, node, branches, build, outside)
    type, bodies = f.merge(branches, node, apart)
    if contains_unknown(type):
        some = [v for v in values if not nothing_known(v)]
        if some and all(v == Static(None) for v in some):  # `xs[-1] if xs else None` of a list that is empty so far
            f.program.incomplete = True
            return Static(None)
        return guess(type)
    return f.bind(build(type, bodies), "choice")


def _columns(f: Frame, values: Sequence[Value]) -> list[tuple[Value, ...]]:
    """Of tuples of one length their first components, their second ones and so on; none of other values."""
    parts = [_parts(f, v) for v in values]
    return list(zip(*parts, strict=True)) if len({len(p) for p in parts}) == 1 else []


def _parts(f: Frame, value: Value) -> list[Value]:
    """The components of a tuple that are known one by one; none of other values."""
    return f.components(value) or [] if isinstance(value, TupleV) or isinstance(known(value)[1], tuple) else []


def _are_different_functions(values: Sequence[Value]) -> bool:
    """Whether some of several values are functions, and not all the same."""
    return are_functions(values) and any(v != values[0] for v in values)


def _part_by_part(
    f: Frame,
    node: ast.AST,
    branches: Sequence[tuple[Builder, Value]],
    build: Callable[[Any, list[n.Expr]], n.Expr],
    outside: set[str],
) -> Value:
    """A choice of tuples that have functions in them, as `arity, work = TABLE[name]`: each function as its number. Raises
    Refused."""
    columns = _columns(f, [v for _, v in branches if not is_never(v)])
    functions = {i: list[Value]() for i, column in enumerate(columns) if _are_different_functions(column)}
    if not all(holds_only(v, outside) for i in functions for v in columns[i]):
        raise Refused("a function that is chosen here uses what only its branch has computed", "compute it before")
    numbered: list[tuple[Builder, Value]] = []
    for b, v in branches:
        if items := _parts(f, v):
            outer, f.builder = f.builder, b
            for i, alternatives in functions.items():
                items[i] = _number_among(f, items[i], alternatives)
            v, f.builder = (ListedV if isinstance(v, ListedV) else TupleV)(tuple(items)), outer
        numbered.append((b, v))
    type, bodies = f.merge(numbered, node)
    if contains_unknown(type):
        return guess(type)
    parts = f.components(f.bind(build(type, bodies), "choice")) or []
    together = tuple(OneOf(v, tuple(functions[i])) if i in functions else v for i, v in enumerate(parts))  # type: ignore[arg-type]
    return (ListedV if type.listed else TupleV)(together)


def _number_among(f: Frame, function: Value, alternatives: list[Value]) -> Value:
    """The number of a function among the alternatives of a choice, to which it, or each one of several, is added."""
    at: Value = Static(len(alternatives))
    alternatives += function.alternatives if isinstance(function, OneOf) else [function]
    return f.host("add", [function.index, at], INT) if isinstance(function, OneOf) else at


def _of_either(f: Frame, values: Sequence[Value]) -> Value:
    """What is known of the result of a choice whose condition is not known in this round of compiling: the type of the
    `values`, if those that have one agree. A later round may find that the condition is a constant, and a type that only covers
    the others would then be wrong."""
    f.program.incomplete = True
    types = [t for v in values if (t := type_or_none(v)) is not None]
    complete = [t for t in types if not contains_unknown(t)]
    if len(types) < len(values) or any(t != complete[0] for t in complete):
        return unknown()
    try:
        return guess(f.common(types))
    except Mismatch:
        return unknown()


def is_function(value: Value) -> bool:
    """Whether a value is a module, a method of one, a function or a class, known at compile time or one of several: a choice of
    such values at run time is a value of its own."""
    match value:
        case Static(v):
            return callable(v)
        case Method(owner):
            return isinstance(owner, Special) and owner.chosen
        case OneOf(_, alternatives):
            return are_functions(alternatives)
        case Closure() | Nested():
            return True
    return isinstance(value, Special) and value.chosen


def are_functions(values: Sequence[Value]) -> bool:
    """Whether a choice of these values at run time is a value of its own: each is a function, as `is_function` says, or None
    beside functions, or each is a constant dictionary, of which others may have other keys."""
    if are_dictionaries(values):
        return True
    return any(map(is_function, values)) and all(v == Static(None) or is_function(v) for v in values)


def are_dictionaries(values: Sequence[Value]) -> bool:
    """Whether each value is a constant dictionary, or one of several."""
    each = [v for value in values for v in (value.alternatives if isinstance(value, OneOf) else (value,))]
    return bool(each) and all(isinstance(v, Static) and type(v.value) is dict for v in each)


def holds_only(value: Value, variables: set[str]) -> bool:
    """Whether a value that is known at compile time, such as a function, holds no other variables of the program than these."""
    inside = value.alternatives if isinstance(value, OneOf) else (value,)  # the number is used in the arm only
    return all(not isinstance(a, n.Var) or not a.name or a.name in variables for v in inside for a in held_atoms(v))


def mapped_choice(f: Frame, node: ast.AST, value: OneOf, work: Callable[[Value], Value]) -> Value:
    """`work` of the alternative that is chosen at run time: again a choice if all results are known at compile time."""
    outside = set(f.names.taken)
    with f.trial():
        results = [work(each) for each in value.alternatives]
    there = [r for r in results if not is_never(r)]
    if there and all(_is_plain_function(r) and holds_only(r, outside) for r in there):
        if len(there) < len(results):  # of those for which there is none only the error is made
            failing = [partial(work, a) if is_never(r) else _nothing for a, r in zip(value.alternatives, results, strict=True)]
            among(f, node, value.index, failing)
        return replace(value, alternatives=tuple(there[0] if is_never(r) else r for r in results))
    return among(f, node, value.index, [partial(work, each) for each in value.alternatives])


def _nothing() -> Value:
    return Static(0)


def _is_plain_function(value: Value) -> bool:
    """Whether a value is a constant, a function or a method, and not one of several."""
    return isinstance(value, (Static, Method)) or is_function(value) and not isinstance(value, OneOf)


def at_index(f: Frame, alternatives: Sequence[Value], index: Value) -> OneOf:
    """One of some functions or modules, by an int known at run time only; another index is an error of the instance."""
    places = f.host("range", [Static(0), Static(len(alternatives)), Static(1)], ListT(INT))
    return OneOf(f.host("list.get", [places, index], INT, "which"), tuple(alternatives))


def among(f: Frame, node: ast.AST, index: Value, arms: Sequence[Arm]) -> Value:
    """`arms[index]()`, for an int that is known at run time only; any other index takes the last arm."""

    def other(i: int) -> Value:
        if i == len(arms) - 1:
            return arms[i]()
        return choose(f, node, f.host("eq", [index, Static(i)], BOOL, "this"), arms[i], lambda: other(i + 1))

    return other(0)


# ---- optionals


def optional(f: Frame, value: Value) -> Any:
    """The type of what an optional value holds if it is not None; None for values that are not optional."""
    if isinstance(value, Dyn) and isinstance(value.type, DataT):
        return f.program.datatypes.optionals.get(value.type.name)
    return None


def open_optional(f: Frame, node: ast.AST, value: Dyn, some: Callable[[Value], Value], none: Arm, name: str = "value") -> Value:
    """`none()` if the optional `value` is None at run time, else `some` of what it holds, in a variable named `name`."""
    var = f.var(name, optional(f, value))

    def build(type: Any, bodies: list[n.Expr]) -> n.Expr:
        return n.Match(value.atom, (n.Arm("None", (), bodies[0]), n.Arm("Some", (var,), bodies[1])), type, span=f.span)

    return one_of(f, node, [none, lambda: some(held_in(Dyn(var)))], build)


def is_none(f: Frame, value: Dyn, negate: bool = False) -> Dyn:
    """Whether an optional is None, or with `negate` is not, as a bool of the host."""
    some = f.var("value", optional(f, value))
    arms = (n.Arm("None", (), n.Lit(not negate, BOOL)), n.Arm("Some", (some,), n.Lit(negate, BOOL)))
    return f.bind(n.Match(value.atom, arms, BOOL, span=f.span), "is_none")


def negation(f: Frame, value: Value) -> Value:
    return Static(not value.value) if isinstance(value, Static) else f.host("not", [value], BOOL)


# ---- failure


def fail(f: Frame, text: str, values: Sequence[Value] = (), symbols: frozenset[int] = frozenset()) -> Dyn:
    """Stage the model's error `text.format(*values)`; gives a value of type NEVER. `symbols`: which values are strings."""
    place = f"{f.span.file}:{f.span.line}: " if f.span.line else ""
    number = f.program.messages.number(Message(place, text, symbols))
    return retyped(f.host("fail", [Static(number), *values], INT, "raised"), NEVER)


def fails_always(f: Frame, node: ast.AST, error: Exception, message: str = "") -> Value:
    """The error for a lookup of constants that always fails: a problem if the call or index has the constants written out, else
    an error of the instances that reach it. No instance may reach it: the constant may be the name of a class without
    objects."""
    written = node.args if isinstance(node, ast.Call) else [node.slice] if isinstance(node, ast.Subscript) else []
    if all(isinstance(x, ast.Constant) for x in written):
        return f.problem(node, message or str(error))
    text = f"{type(error).__name__}: {error}"
    return fail(f, text.replace("{", "{{").replace("}", "}}"))
