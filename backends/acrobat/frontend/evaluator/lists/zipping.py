"""`zip` of lists and tuples, and `zip(*xs)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import repeat

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.nones import opened_inside
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import as_tuple, is_list, is_unknown, nothing_known, type_of, type_or_none, variable_of
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Held, Special, Static, TupleV, Value, unknown
from backends.acrobat.library import iteration


def of_modules(xs: TupleV) -> bool:
    """Whether a tuple has a module in it."""
    return any(isinstance(v, Special) and v.unrolled for v in xs.items)


def zipped(f: Frame, node: ast.AST, lists: list[Value]) -> Value:
    """`zip` of lists of the program and tuples. Raises Refused."""
    tuples = [xs for xs in lists if isinstance(xs, TupleV)]
    if len(tuples) == len(lists):
        return Held("iterator", TupleV(tuple(TupleV(t) for t in zip(*(xs.items for xs in tuples), strict=False))))
    if any(is_unknown(xs) for xs in lists):
        return unknown()
    if any(map(of_modules, tuples)):
        return Held("iterator", _zip_modules(f, lists, min(len(xs.items) for xs in tuples)))
    parts = [f.display(xs) for xs in lists]
    lists = [as_list(f, node, xs) for xs in lists]
    if not all(is_list(xs) for xs in lists):
        if None in parts:
            raise Refused("`zip` takes lists here")
        return Held("iterator", TupleV(tuple(TupleV(t) for t in zip(*(items or () for items in parts), strict=False))))
    return Held("iterator", f.host("zip", lists, ListT(TupleT(tuple(type_of(xs).item for xs in lists)))))


def _zip_modules(f: Frame, lists: list[Value], count: int) -> TupleV:
    """`zip` of module lists and lists of the program, as `count` tuples. A shorter list of which it is not known how many
    elements it has is an error of the instance."""
    known_items = [xs.items if isinstance(xs, TupleV) else f.displays.get(variable_of(xs)) for xs in lists]
    count = min(count, *(len(items) for items in known_items if items is not None))

    def at(xs: Value, items: Sequence[Value] | None, i: int) -> Value:
        return f.host("list.get", [xs, Static(i)], type_of(xs).item, "element") if items is None else items[i]

    return TupleV(tuple(TupleV(tuple(map(at, lists, known_items, repeat(i)))) for i in range(count)))


def unzipped(f: Frame, node: ast.AST, xs: Value) -> Value:
    """`zip(*xs)`: of a list of tuples, or of lists, a tuple of their first elements, one of their second ones, and so on."""
    xs = opened_inside(f, node, xs.value if isinstance(xs, Held) and xs.kind == "iterator" else xs)
    t = type_or_none(xs)
    if nothing_known(xs) or isinstance(t, ListT) and contains_unknown(t):
        return unknown()
    each = f.display(xs)
    if each and all(is_list(v) for v in each) and len({type_of(v) for v in each}) > 1:  # as `t.tolist()` of what `topk` gives
        return zipped(f, node, each)
    if isinstance(t, ListT) and isinstance(t.item, ListT) and t.item.rows is None:
        return Held("iterator", f.program.call(f, node, iteration.transposed, [xs], {}))
    if not isinstance(t, ListT) or not isinstance(t.item, TupleT):
        return f.problem(node, "`zip(*xs)` takes a list of tuples or of lists here")

    def component(i: int) -> Value:
        return as_tuple(mapped(f, [xs], lambda pair: (f.components(pair) or [])[i]))

    return TupleV(tuple(component(i) for i in range(len(t.item.items))))
