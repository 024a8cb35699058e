"""Lists of the program: making, mapping, slicing, joining and folding them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import EnumType
from functools import partial
from typing import Any, TypeAlias

from backends.acrobat.core.types import BOOL, INT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import among, is_function, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import ITERABLE, by_type
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import INDICES, ITERATION, RESULTS, handles
from backends.acrobat.frontend.specials import Endless, OneOf
from backends.acrobat.frontend.types import (
    NONE,
    UNKNOWN,
    Mismatch,
    contains_held,
    contains_unknown,
    describe,
    is_never_filled,
    is_shared,
)
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Held,
    ListedV,
    Special,
    Static,
    TupleV,
    Value,
    as_kind,
    as_tuple,
    held_in,
    is_array,
    is_list,
    is_unknown,
    kind,
    known,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import iteration

Array: TypeAlias = Any
"""A value that is a tensor, ragged or not, or a list: a `Dyn`, in most places."""
Rows: TypeAlias = Callable[..., Any]
"""What is made of one part each of some lists."""


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
        t = NONE if all(v == Static(None) for v in items) else f.common([type_of(v) for v in items])
    except Mismatch:
        staged = None if all(isinstance(v, Static) for v in items) else _staged(f, items)
        if staged is not None:
            return list_of(f, node, staged, hint)
        if all(isinstance(v, Static) or (isinstance(v, Special) and v.unrolled) for v in items) or all(map(is_array, items)):
            return ListedV(tuple(items))
        if all(map(is_function, items)) or not any(isinstance(v, Special) for v in items):
            return ListedV(tuple(items))
        return f.problem(node, f"the elements of this list differ in type: {f.places(items)}")
    objects = list(map(f.as_object, items))  # constant named tuples keep their names
    if any(new is not v for new, v in zip(objects, items, strict=True)):
        return list_of(f, node, objects, hint)
    learnt = f.learnt(f.span)
    if contains_unknown(t) and isinstance(learnt, ListT) and learnt.kind == "list":
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
    with f.trial():
        try:
            f.common([type_of(f.staged(v)) for v in items])
        except Mismatch:
            return None
    return list(map(f.staged, items))


def as_list(f: Frame, node: ast.AST, value: Value) -> Value:
    """The list of the components of a tuple; other values unchanged."""
    return list_of(f, node, list(value.items)) if isinstance(value, TupleV) else value


# ---- walking over lists


def iterable(f: Frame, value: Value) -> Value:
    """What a loop over `value` iterates: a list of the program, or a tuple to unroll the loop over. Raises Refused."""
    value = opened(f, ast.Pass(), value, "the loop needs a list", ITERABLE)
    handler = ITERATION.get(kind(value))
    if handler is not None:
        value = handler(f, value)
    if is_never_filled(type_or_none(value)):
        return TupleV(())
    if handler is not None:
        return value
    if is_list(value) or is_unknown(value):
        return value
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


@handles(ITERATION, Held, TupleV, Static)
def _known_items(f: Frame, value: Value) -> Value:
    match value:
        case Held("iterator", Endless()):
            raise Refused("an iterator without an end stands in a `zip` with a list, or in `islice`", "write a `while` loop")
        case Held("iterator", inner):
            return inner
        case Held("ids", TupleV() as inner):
            return inner
        case TupleV() | Static(tuple() | list()):
            unrolled: Value = f.static_list(value)
            return unrolled
        case Static(str() as text):
            return TupleV(tuple(map(Static, text)))
        case Static(dict() as keys):
            return TupleV(tuple(map(Static, keys)))
        case Static(EnumType() as members):
            return TupleV(tuple(map(Static, members)))
        case Static(set() | frozenset()):
            raise no_order()
        case Static(range() as r):
            return f.host("range", [Static(r.start), Static(r.stop), Static(r.step)], ListT(INT))
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


@handles(ITERATION, OneOf)
def _of_one(f: Frame, value: OneOf) -> Value:
    """The items of one of several constant lists, or the keys of one of several dictionaries."""
    if not value.of_containers or any(isinstance(known(v)[1], (set, frozenset)) for v in value.alternatives):
        raise Refused("only lists, ranges, tuples and module lists can be iterated over")
    items = [Static(list(known(v)[1])) for v in value.alternatives]
    return among(f, ast.Pass(), value.index, [partial(f.staged, v) for v in items])


@handles(ITERATION, "tuple")
def _components(f: Frame, value: Dyn) -> Value:
    return TupleV(tuple(f.components(value) or ()))


@handles(ITERATION, "varying tuple")
def _items_of_varying(f: Frame, value: Dyn) -> Value:
    return as_kind(value, "list")


def no_order() -> Refused:
    """The error of a program whose result may depend on the order of a set."""
    return Refused("the order of a set is not known", "write `sorted(...)` around it")


def item_type(value: Any) -> Any:
    """The type of the parts of a ragged tensor, or of the items of a list."""
    assert isinstance(value.type, ListT)
    return value.type.item


def mapped(f: Frame, lists: Sequence[Array], body: Rows, hint: str = "row") -> Dyn:
    """The list `[body(*items) for items in zip(*lists)]`. Different lengths are an error of the instance."""
    plain = [retyped(xs, ListT(item_type(xs))) for xs in lists]
    plain = [plain[0], *(of_length(f, xs, plain[0]) for xs in plain[1:])]
    items = [item_type(xs) for xs in plain]
    together = plain[0] if len(plain) == 1 else f.host("zip", plain, ListT(TupleT(tuple(items))))
    var = f.var(hint, items[0] if len(plain) == 1 else TupleT(tuple(items)))
    earlier, f.mutated = f.mutated, set()
    with f.branch() as b:
        parts: list[Value] = [held_in(Dyn(var))] if len(plain) == 1 else f.components(Dyn(var)) or []
        result = body(*parts)
        t = type_of(result)
        carried = f.program.carried.types
        changed, others = [x for x in carried if x in f.mutated], f.mutated & set(f.env) - set(carried)
        f.mutated = earlier
        if others:
            raise Refused(f"{f.shown(min(others))} is changed for each element here", "write a loop")
        if contains_unknown(t):
            return unknown()
        rows_body = b.finish(f.atom(result))
    if changed:
        rows = _in_order(f, together, body if len(plain) == 1 else lambda pair: body(*(f.components(pair) or [])), t, changed)
    else:
        rows = f.bind(n.Map(var, together.atom, rows_body, ListT(t), span=f.span), "rows")
    f.lengths_of[getattr(rows.atom, "name", "")] = _origin(f, plain[0])
    if any(has_items(f, xs) for xs in plain):
        f.nonempty.add(getattr(rows.atom, "name", ""))
    return rows


def _in_order(f: Frame, xs: Array, body: Rows, t: Any, changed: Sequence[str]) -> Dyn:
    """As `mapped`, where computing an item, of type `t`, changes values that functions take and give beside their parameters
    (`functions/carried.py`): one after the other, in a fold."""
    start = [f.bind(n.ListOf((), ListT(t), span=f.span), "none"), *(f.program.carried.handed_on(f, x) for x in changed)]
    types = [type_of(v) for v in start]
    item = f.var("item", item_type(xs))
    state = [f.var("rows", ListT(t)), *(f.var(x, each) for x, each in zip(changed, types[1:], strict=True))]
    with f.branch() as b:
        f.env |= {x: Dyn(v) for x, v in zip(changed, state[1:], strict=True)}
        result = f.coerce(body(held_in(Dyn(item))), t)
        rows = f.host("list.append", [Dyn(state[0]), result], ListT(t), "rows")
        after = (f.coerce(f.env[x], each) for x, each in zip(changed, types[1:], strict=True))
        rows_body = b.finish(f.atom(TupleV((rows, *after))))
    whole = TupleT(tuple(types))
    folded = f.bind(n.Fold(item, xs.atom, tuple(state), tuple(map(f.atom, start)), rows_body, whole, span=f.span), "rows")
    first, *given = f.components(folded) or []
    for x, v in zip(changed, given, strict=True):
        f.keep(x, v)
    assert isinstance(first, Dyn)
    return first


def _origin(f: Frame, xs: Array) -> str:
    """The variable of the list from which a chain of maps has made `xs`: all lists of the chain have one length."""
    name = getattr(xs.atom, "name", "")
    return f.lengths_of.get(name, name)


def stacked(f: Frame, xs: Array) -> Dyn:
    """A copy of the list, which is known to have an item from now on: PyTorch's `stack` raises for an empty list."""
    named = mapped(f, [xs], lambda row: row)
    f.nonempty.add(getattr(named.atom, "name", ""))
    return named


def has_items(f: Frame, xs: Array) -> bool:
    """Whether a list is known to have an item: `stacked` has made it, or a chain of maps from such a list."""
    return getattr(xs.atom, "name", "") in f.nonempty


def of_length(f: Frame, xs: Array, other: Array) -> Dyn:
    """The list `xs`, which must be as long as `other`: extents that differ are an error of the instance."""
    if _origin(f, xs) == _origin(f, other):
        same: Dyn = xs
        return same
    sizes = [f.host("list.len", [each], INT, "size") for each in (xs, other)]
    return _of_equal_sizes(f, xs, sizes)


def of_size(f: Frame, xs: Array, size: Value) -> Dyn:
    """The list `xs`, which must have `size` items: another number is an error of the instance."""
    if is_length_of(f, size, xs):
        return xs  # type: ignore[no-any-return]
    checked = _of_equal_sizes(f, xs, [f.host("list.len", [xs], INT, "size"), size])
    f.lengths_of[getattr(checked.atom, "name", "")] = _origin(f, xs)
    return checked


def is_length_of(f: Frame, value: Value, xs: Array) -> bool:
    """Whether an int is known to be how many items a list, or a ragged tensor along its outermost varying dimension, has."""
    return isinstance(value, Dyn) and f.lengths.get(getattr(value.atom, "name", "")) == _origin(f, xs)


def _of_equal_sizes(f: Frame, xs: Array, sizes: Sequence[Value]) -> Dyn:
    difference = f.host("sub", sizes, INT, "difference")
    only = f.host("range", [Static(0), Static(1), Static(1)], ListT(INT))
    size = f.host("mul", [difference, difference], INT, "difference")
    start = f.host("list.get", [only, size], INT, "start")  # 0, or outside of the list
    return f.host("list.slice", [xs, start, Static(END)], xs.type, "rows")


def transposed_lists(f: Frame, xs: Array) -> Dyn:
    """A list of lists of equal lengths with the two levels exchanged."""
    first = f.host("list.get", [xs, Static(0)], item_type(xs), "first")
    return mapped(f, [indices(f, first)], lambda i: mapped(f, [xs], lambda row: at(f, row, i)))


def indices(f: Frame, xs: Array) -> Dyn:
    return f.host("range", [Static(0), length(f, xs), Static(1)], ListT(INT))


def length(f: Frame, xs: Array) -> Dyn:
    """The varying extent of a ragged tensor's outermost dimension, or the length of a list."""
    assert isinstance(xs, Dyn)
    size = f.host("list.len", [retyped(xs, ListT(item_type(xs)))], INT, "size")
    f.lengths[getattr(size.atom, "name", "")] = _origin(f, xs)
    return size


def at(f: Frame, xs: Array, i: Value) -> Dyn:
    """The item of a list, or the part of a ragged tensor, at index `i`."""
    assert isinstance(xs, Dyn)
    return f.host("list.get", [retyped(xs, ListT(item_type(xs))), i], item_type(xs), "row")


def flattened(f: Frame, xs: Array) -> Dyn:
    """The items of a list of lists, in one list."""
    if is_unknown(xs):
        return unknown()
    whole = type_of(xs)  # the tuples in the lists stay as they are
    xs = retyped(xs, replace(whole, kind="list", item=replace(whole.item, kind="list")))
    t = item_type(xs)
    item, so_far = f.var("item", t), f.var("all", t)
    with f.branch() as b:
        more = f.host("list.concat", [Dyn(so_far), Dyn(item)], t)
        body = b.finish(f.bind(n.Tuple((more.atom,), TupleT((t,)), span=f.span), "next").atom)
    none = f.bind(n.ListOf((), t, span=f.span), "empty")
    folded = f.bind(n.Fold(item, f.atom(xs), (so_far,), (none.atom,), body, TupleT((t,)), span=f.span), "joined")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "all")


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


# ---- one value from many


def head(f: Frame, xs: Value) -> tuple[Value, Value]:
    """The list without its first item, and that item. An empty list is an error of the instance."""
    t = type_of(xs)
    first = f.host("list.get", [xs, Static(0)], t.item, "first")
    return f.host("list.slice", [xs, Static(1), Static(END)], t, "others"), first


def fold(f: Frame, xs: Value, init: Value, step: Callable[[Value, Value], Value]) -> Value:
    """The left fold `step(...step(step(init, first), second)..., last)` of a list. Raises Mismatch where a step gives a value
    of another type than `init`."""
    t = type_of(init)
    item, so_far = f.var("item", type_of(xs).item), f.var("total", t)
    with f.branch() as b:
        result = f.atom(f.coerce(step(Dyn(so_far), Dyn(item)), t))
        body = b.finish(f.bind(n.Tuple((result,), TupleT((t,)), span=f.span), "next").atom)
    folded = f.bind(n.Fold(item, f.atom(xs), (so_far,), (f.atom(init),), body, TupleT((t,)), span=f.span), "sum")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "total")


def _has_held(f: Frame, type: Any) -> bool:
    """Whether there are values with few uses in values of a type, also as one of several types."""
    match type:
        case TupleT(items):
            return any(_has_held(f, t) for t in items)
        case ListT(item):
            return bool(contains_held(type)) or _has_held(f, item)
    return bool(contains_held(type)) or is_shared(f.without_none(type)) or any(map(contains_held, f.mixed(type).values()))


def as_result(f: Frame, value: Value) -> Value:
    """A value that `forward` returns, with the rules for results applied to what is inside of its tuples and lists."""
    if isinstance(value, Dyn) and any(map(contains_held, f.mixed(value.type).values())):
        return by_type(f, ast.Pass(), value, lambda _, inner: as_result(f, inner))
    if isinstance(value, TupleV) or isinstance(type_or_none(value), TupleT) and _has_held(f, type_of(value)):
        items = tuple(as_result(f, v) for v in f.components(value) or ())
        return replace(value, items=items) if isinstance(value, TupleV) else TupleV(items)
    if kind(value) in ("list", "varying tuple") and not is_unknown(value) and _has_held(f, type_of(value)):
        results = mapped(f, [value], lambda x: as_result(f, x))  # type: ignore[list-item]
        return results if is_list(value) else as_tuple(results)
    for rule in RESULTS:
        if (result := rule(f, value)) is not None:
            return result
    return value
