"""Making lists of the program, and slices of them."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import BOOL, INT, LIST, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import is_function, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.sequences_met import note_written
from backends.acrobat.frontend.evaluator.tables import INDICES
from backends.acrobat.frontend.kinds import is_array, kind, nothing_known, type_of, type_or_none
from backends.acrobat.frontend.types import NONE, UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import END, Dyn, ListedV, Special, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import iteration


def empty_list(f: Frame) -> Dyn:
    """A list whose item type is not known yet."""
    return f.empty(ListT(UNKNOWN))


def with_item(f: Frame, xs: Value, at: Value, item: Value) -> Dyn:
    """A list with another item at the index `at`, which is not negative and below its length. `item` is of its items' type."""
    t = type_of(xs)
    one = f.bind(n.ListOf((f.atom(item),), t, span=f.span), "changed")
    before = f.host("list.slice", [xs, Static(0), at], t, "before")
    after = f.host("list.slice", [xs, f.host("add", [at, Static(1)], INT, "after"), Static(END)], t, "after")
    return f.host("list.concat", [f.host("list.concat", [before, one], t), after], t)


def list_of(f: Frame, node: ast.AST, items: list[Value], hint: str = "") -> Value:
    """The list of these items; or a tuple of them, if their types differ: `[tokens, score, state]`."""
    if not items:
        return empty_list(f)
    items = list(map(f.as_number, items))
    try:
        with f.program.datatypes.met.in_display():
            t = NONE if all(v == Static(None) for v in items) else f.common([type_of(v) for v in items])
    except Mismatch:
        staged = None if all(isinstance(v, Static) for v in items) else _staged(f, items)
        if staged is not None:
            return list_of(f, node, staged, hint)
        if all(isinstance(v, Static) or (isinstance(v, Special) and v.unrolled) for v in items) or all(map(is_array, items)):
            return note_written(f, node, ListedV(tuple(items)))
        if all(map(is_function, items)) or not any(isinstance(v, Special) for v in items):
            return note_written(f, node, ListedV(tuple(items)))
        return f.problem(node, f"the elements of this list differ in type: {f.places(items)}")
    objects = list(map(f.as_object, items))  # constant named tuples keep their names
    if any(new is not v for new, v in zip(objects, items, strict=True)):
        return list_of(f, node, objects, hint)
    learnt = f.learnt(f.span)
    if contains_unknown(t) and isinstance(learnt, ListT) and learnt.kind == LIST:
        t = learnt.item
    if contains_unknown(t):
        return f.not_yet(ListT(t)) if isinstance(t, (ListT, TupleT)) else unknown()
    atoms = tuple(f.atom(f.coerce(v, t)) for v in items)
    result = f.bind(n.ListOf(atoms, ListT(t), span=f.span), hint or "list")
    assert isinstance(result.atom, n.Var)
    f.displays[result.atom.name] = tuple(items)
    return result


def _staged(f: Frame, items: list[Value]) -> list[Value] | None:
    """The items with constant lists as lists of the program; None where they have no common type then either."""
    with f.trial(), f.program.datatypes.met.in_display():
        try:
            f.common([type_of(f.staged(v)) for v in items])
        except Mismatch:
            return None
    return list(map(f.staged, items))


def as_list(f: Frame, node: ast.AST, value: Value) -> Value:
    """The list of the components of a tuple; other values unchanged."""
    return list_of(f, node, list(value.items)) if isinstance(value, TupleV) else value


# ---- walking over lists


def sliced(f: Frame, node: ast.AST, items: Value, start: Value, stop: Value, step: Value) -> Value:
    """`items[start:stop:step]` of a list."""
    if nothing_known(items):
        return unknown()
    by = 1 if step == Static(None) else constant(step, "the step")
    if by == 0:
        raise Refused("the step of a slice is not zero")
    size = length(f, items)
    pair = f.call_with(iteration.bounds, [size, start, stop, Static(by)], node)
    parts = f.components(pair, 2)
    if parts is None:
        return unknown()
    return f.call_with(iteration.stepped, [items, *parts, Static(by)], node)


def bound(f: Frame, node: ast.AST, value: Value | None, default: int) -> Value:
    """A bound of a slice without a step, as an int: `default` where it is left out, or is None. Raises Refused."""
    if value is None or value == Static(None):
        return Static(default)
    if isinstance(value, Dyn) and not f.mixed(value.type) and optional(f, value) is not None:
        return open_optional(f, node, value, lambda some: bound(f, node, some, default), lambda: Static(default))
    value = opened(f, node, value, types=("int", "bool"))
    as_int = INDICES.get(kind(value))
    at = value if as_int is None else as_int(f, value)
    if not nothing_known(at) and type_or_none(at) not in (INT, BOOL):
        raise Refused(f"a bound of a slice is an int, not {describe(type_of(at))}")
    return at


def first_items(f: Frame, node: ast.AST, xs: Value, count: Value) -> Value:
    """The first `count` items of a list: none if it is negative, and all if it is None. Raises Refused."""
    stop = bound(f, node, count, END)
    return f.host("list.slice", [xs, Static(0), f.host("max", [stop, Static(0)], INT)], type_of(xs))
