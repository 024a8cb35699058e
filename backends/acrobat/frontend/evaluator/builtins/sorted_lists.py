"""The functions of `heapq` and `bisect`, which keep lists in an order."""

from __future__ import annotations

import ast
import bisect
import heapq
from collections.abc import Callable
from functools import partial
from typing import Any

from backends.acrobat.frontend.evaluator.builtins.ordering import ordered
from backends.acrobat.frontend.evaluator.changes.indices import found_before
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.expressions.length import length_of
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.growing import grown
from backends.acrobat.frontend.evaluator.lists.lists import first_items
from backends.acrobat.frontend.evaluator.tables import CHANGE_FIRST, FUNCTIONS, WRITTEN, handles
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_of
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Static, Value, unknown
from backends.acrobat.library import heaps, searching

CHANGING: dict[Any, Callable[..., Any]] = {
    heapq.heappush: heaps.pushed,
    heapq.heappop: heaps.popped,
    heapq.heapify: heaps.heapified,
    heapq.heappushpop: heaps.pushed_and_popped,
    heapq.heapreplace: heaps.replaced,
    bisect.insort_left: searching.inserted_left,
    bisect.insort_right: searching.inserted_right,  # also named `insort`
}
"""Functions that change the list which is their first argument -> those of the library that give the new one."""
WITHOUT_ITEM = {heapq.heappop, heapq.heapify}
"""Those of them that take no item."""
GIVING = {heapq.heappop, heapq.heappushpop, heapq.heapreplace}
"""Those of them that give an item, and so do the library's, before the new list."""
CHANGE_FIRST |= {*CHANGING}


@handles(WRITTEN, *CHANGING)
def _changed(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != (1 if function in WITHOUT_ITEM else 2) or node.keywords:
        return None
    result: Value = unknown() if function in GIVING else Static(None)
    owner, *items = node.args
    owner, item = found_before(f, owner, items, lambda: [f.as_number(f.expression(a)) for a in items])
    place_and_value = place(f, node, owner, function.__name__)
    if place_and_value is None or any(map(nothing_known, item)):
        return result
    name, xs = place_and_value
    if item:
        t = grown(f, xs, type_of(item[0]))
        if contains_unknown(t):
            give(f, name, f.not_yet(t))
            return result
        xs, item = f.coerce(xs, t), [f.coerce(item[0], t.item)]
    elif is_unknown(xs):
        return result
    after = f.program.call(f, node, CHANGING[function], [xs, *item], {})
    if function in GIVING:
        parts = f.components(after, 2)
        if parts is None:
            return unknown()
        result, after = parts
    give(f, name, after)
    return result


def _first_of(
    name: str, reverse: bool, f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str
) -> Value:
    """The first items of the list in order."""
    count, xs, key = CallArguments(name, args, kwargs).bind("n", "iterable", "key", key=Static(None))
    whole = ordered(f, node, "sorted", [xs], {"key": key, "reverse": Static(reverse)})
    if is_unknown(whole) or nothing_known(count):
        return unknown()
    return first_items(f, node, whole, opened(f, node, count))


def _place(name: str, work: Any, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """Where an item belongs in a sorted list."""
    xs, item, low, high = CallArguments(name, args, kwargs).bind("a", "x", "lo", "hi", lo=Static(0), hi=Static(None))
    if any(is_unknown(v) for v in (xs, item, low, high)):
        return unknown()
    return f.program.call(f, node, work, [xs, item, low, length_of(f, node, xs) if high == Static(None) else high], {})


FUNCTIONS[heapq.nlargest] = partial(_first_of, "nlargest", True)
FUNCTIONS[heapq.nsmallest] = partial(_first_of, "nsmallest", False)
FUNCTIONS[bisect.bisect_left] = partial(_place, "bisect_left", searching.bisect_left)
FUNCTIONS[bisect.bisect_right] = partial(_place, "bisect_right", searching.bisect_right)  # also named `bisect`
