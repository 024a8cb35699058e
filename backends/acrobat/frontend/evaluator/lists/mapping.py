"""What is computed of the items of lists, one by one: maps, folds, and the lists that a model returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from backends.acrobat.core.types import INT, LIST, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.mixed import by_type, is_tree
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import (
    Array,
    at,
    has_items,
    indices,
    item_type,
    note_item,
    of_length,
    origin_of,
)
from backends.acrobat.frontend.evaluator.tables import RESULTS
from backends.acrobat.frontend.instances.shared import ITEMS
from backends.acrobat.frontend.kinds import as_tuple, is_list, is_unknown, kind, retyped, type_of, type_or_none
from backends.acrobat.frontend.types import contains_held, contains_unknown, is_shared
from backends.acrobat.frontend.values import END, Dyn, Placeholder, Static, TupleV, Value, held_in, unknown
from backends.acrobat.ir import nodes as n

Rows: TypeAlias = Callable[..., Any]
"""What is made of one part each of some lists."""


def mapped(f: Frame, lists: Sequence[Array], body: Rows, hint: str = "row") -> Dyn:
    """The list `[body(*items) for items in zip(*lists)]`. Different lengths are an error of the instance."""
    plain = [retyped(xs, ListT(item_type(xs))) for xs in lists]
    plain = [plain[0], *(of_length(f, xs, plain[0]) for xs in plain[1:])]
    items = [item_type(xs) for xs in plain]
    together = plain[0] if len(plain) == 1 else f.host("zip", plain, ListT(TupleT(tuple(items))))
    var = f.var(hint, items[0] if len(plain) == 1 else TupleT(tuple(items)))
    with f.changes(counted=False) as inside, f.branch() as b:
        parts: list[Value] = [held_in(Dyn(var))] if len(plain) == 1 else f.components(Dyn(var)) or []
        for xs, part in zip(plain, parts, strict=True):
            note_item(f, xs, part)
        result = body(*parts)
        t = type_of(result)
        carried = f.program.carried.types
        changed, others = [x for x in carried if x in inside], inside & set(f.env) - set(carried)
        if others:
            raise Refused(f"{f.shown(min(others))} is changed for each element here", "write a loop")
        if contains_unknown(t):
            return unknown()
        origin = origin_of(f, result) if isinstance(t, ListT) and isinstance(result, Dyn) else ""
        within = {var.name, *(v.name for v, _ in b.bindings)}
        rows_body = b.finish(f.atom(result))
    f.owned &= f.owned_at_end
    if changed:
        rows = _in_order(f, together, body if len(plain) == 1 else lambda pair: body(*(f.components(pair) or [])), t, changed)
    else:
        rows = f.bind(n.Map(var, together.atom, rows_body, ListT(t), span=f.span), "rows")
    f.lengths_of[getattr(rows.atom, "name", "")] = origin_of(f, plain[0])
    if not changed and origin in f.sources and origin not in within:  # a list outside of this map is as long as each row
        f.lengths_inside[getattr(rows.atom, "name", "")] = f.sources[origin]
    if any(has_items(f, xs) for xs in plain):
        f.nonempty.add(getattr(rows.atom, "name", ""))
    return rows


def _in_order(f: Frame, xs: Array, body: Rows, t: Any, changed: Sequence[str]) -> Dyn:
    """As `mapped`, for a computation that changes values which functions take beside their parameters (`functions/carried.py`):
    the items, of type `t`, are computed one after the other, in a fold."""
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
    owned = f.owned & f.owned_at_end
    for x, v in zip(changed, given, strict=True):
        f.keep(x, v)
    f.owned = owned  # something else may refer to what the items have in them
    assert isinstance(first, Dyn)
    return first


def stacked(f: Frame, xs: Array) -> Dyn:
    """A copy of the list, which is known to have an item from now on: PyTorch's `stack` raises for an empty list."""
    named = mapped(f, [xs], lambda row: row)
    f.nonempty.add(getattr(named.atom, "name", ""))
    return named


def transposed_lists(f: Frame, xs: Array, extent: int | None = None) -> Dyn:
    """A list of lists of equal lengths with the two levels exchanged; `extent` is that length, where it is known."""
    extent = getattr(item_type(xs), "extent", None) if extent is None else extent  # there may be no list to look at
    inside = f.lengths_inside.get(getattr(xs.atom, "name", ""))
    if inside is not None:
        places = indices(f, inside)
        f.lengths_of[getattr(places.atom, "name", "")] = origin_of(f, inside)
    elif extent is not None:
        places = f.host("range", [Static(0), Static(extent), Static(1)], ListT(INT))
    else:
        places = indices(f, f.host("list.get", [xs, Static(0)], item_type(xs), "first"))
    return mapped(f, [places], lambda i: mapped(f, [xs], lambda row: at(f, row, i)))


def flattened(f: Frame, xs: Array) -> Dyn:
    """The items of a list of lists, in one list."""
    if is_unknown(xs):
        return unknown()
    whole = type_of(xs)  # the tuples in the lists stay as they are
    xs = retyped(xs, replace(whole, kind=LIST, item=replace(whole.item, kind=LIST)))
    t = item_type(xs)
    item, so_far = f.var("item", t), f.var("all", t)
    with f.branch() as b:
        more = f.host("list.concat", [Dyn(so_far), Dyn(item)], t)
        body = b.finish(f.bind(n.Tuple((more.atom,), TupleT((t,)), span=f.span), "next").atom)
    none = f.bind(n.ListOf((), t, span=f.span), "empty")
    folded = f.bind(n.Fold(item, f.atom(xs), (so_far,), (none.atom,), body, TupleT((t,)), span=f.span), "joined")
    return f.bind(n.Field(folded.atom, 0, t, span=f.span), "all")


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
    """Whether values of a type contain values with few uses (`Held`), also as one of several types, or contain such as the
    program has as numbers."""
    match type:
        case TupleT(items):
            return any(_has_held(f, t) for t in items)
        case ListT(item):
            return bool(contains_held(type)) or _has_held(f, item)
    return bool(contains_held(type)) or has_numbers(f, type) or any(map(contains_held, f.mixed(type).values()))


def has_numbers(f: Frame, type: Any) -> bool:
    """Whether values of a type, or the objects in them that the model makes, contain numbered objects or shared lists."""
    datatypes = f.program.datatypes
    pending, seen = [type] if datatypes.has_references else [], set[str]()
    while pending:
        match f.without_none(pending.pop()):
            case TupleT(items):
                pending += items
            case ListT(item):
                pending.append(item)
            case DataT(name) as inner if name not in seen:
                if is_shared(inner) or datatypes.is_referenced(name):
                    return True
                seen.add(name)
                classes = [c for c in datatypes.cases.get(name, ()) if c not in datatypes.seen]
                pending += [datatypes.fields.get((c, x)) for c in classes for x in datatypes.field_names(c)]
                pending += f.mixed(inner).values()
    return False


def holds_itself(f: Frame, type: Any, around: frozenset[str] = frozenset(), mixed: frozenset[str] = frozenset()) -> bool:
    """Whether a shared list (`shared_lists`) that a value of a type is or contains, outside of objects, may contain others of
    its own type. `around`: the types of shared lists around it; `mixed`: the mixed unions around it inside of these."""
    match f.without_none(type) if f.program.datatypes.has_shared else None:
        case TupleT(items):
            return any(holds_itself(f, x, around, mixed) for x in items)
        case ListT(item):
            return holds_itself(f, item, around, mixed)
        case DataT(name) as inner if is_shared(inner):
            inside = [f.program.datatypes.fields.get((c, ITEMS)) for c in f.program.datatypes.cases[name]]
            return name in around or any(holds_itself(f, x, around | {name}) for x in inside)
        case DataT(name) as inner if name not in mixed:
            return any(holds_itself(f, x, around, mixed | {name}) for x in f.mixed(inner).values())
    return False


def as_result(f: Frame, value: Value) -> Value:
    """A value that `forward` returns, with the rules for results applied to what is inside of its tuples and lists. Where there
    may be numbers in it of which only a later round knows, nothing is known of it."""
    if isinstance(value, Dyn) and type(value.atom) is Placeholder and f.program.datatypes.has_references:
        return unknown()
    types = f.mixed(value.type).values() if isinstance(value, Dyn) else ()
    of_numbers = any(has_numbers(f, t) for t in types)
    if isinstance(value, Dyn) and (
        of_numbers and not is_tree(f, value.type) and not holds_itself(f, value.type) or any(map(contains_held, types))
    ):
        return by_type(f, ast.Pass(), value, lambda _, inner: as_result(f, inner))
    if isinstance(value, TupleV) or isinstance(type_or_none(value), TupleT) and _has_held(f, type_of(value)):
        items = tuple(as_result(f, v) for v in f.components(value) or ())
        return replace(value, items=items) if isinstance(value, TupleV) else TupleV(items)
    if kind(value) in ("list", "varying tuple") and not is_unknown(value) and _has_held(f, type_of(value)):
        results = mapped(f, [value], lambda x: as_result(f, x))
        return results if is_list(value) else as_tuple(results)
    for rule in RESULTS:
        if (result := rule(f, value)) is not None:
            return result
    return value
