"""The functions of `heapq` and `bisect`, which keep lists in an order."""

from __future__ import annotations

import ast
import bisect
import heapq
from collections.abc import Callable
from typing import Any

from backends.acrobat.frontend.evaluator.builtins.ordering import ordered
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.expressions.indexing import length_of
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.growing import grown
from backends.acrobat.frontend.evaluator.lists.lists import first_items
from backends.acrobat.frontend.evaluator.tables import CHANGE_FIRST, FUNCTIONS, WRITTEN, handles
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_of
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Static, Value, unknown
from backends.acrobat.library import heaps, searching

CHANGE_FIRST |= {heapq.heappush, heapq.heappop, heapq.heapify, heapq.heappushpop, heapq.heapreplace}
CHANGE_FIRST |= {bisect.insort_left, bisect.insort_right}


@handles(WRITTEN, heapq.heappush)
def _heap_push(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 2 or node.keywords:
        return None
    item = f.as_number(f.expression(node.args[1]))
    place_and_value = place(f, node, node.args[0], "heappush")
    if place_and_value is None or nothing_known(item):
        return Static(None)
    name, heap = place_and_value
    t = grown(f, heap, type_of(item))
    if contains_unknown(t):
        give(f, name, f.not_yet(t))
        return Static(None)
    give(f, name, f.program.call(f, node, heaps.pushed, [f.coerce(heap, t), f.coerce(item, t.item)], {}))
    return Static(None)


@handles(WRITTEN, heapq.heappop)
def _heap_pop(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 1 or node.keywords:
        return None
    place_and_value = place(f, node, node.args[0], "heappop")
    if place_and_value is None or is_unknown(place_and_value[1]):
        return unknown()
    name, heap = place_and_value
    popped = f.program.call(f, node, heaps.popped, [heap], {})
    parts = f.components(popped, 2)
    if parts is None:
        return unknown()
    give(f, name, parts[1])
    return parts[0]


@handles(WRITTEN, heapq.heapify)
def _heapify(f: Frame, node: ast.Call, function: Any) -> Value | None:
    place_and_value = place(f, node, node.args[0], "heapify") if len(node.args) == 1 else None
    if place_and_value is not None and not is_unknown(place_and_value[1]):
        give(f, place_and_value[0], f.program.call(f, node, heaps.heapified, [place_and_value[1]], {}))
    return Static(None)


EXCHANGES = {heapq.heappushpop: heaps.pushed_and_popped, heapq.heapreplace: heaps.replaced}
"""Functions that take a heap and an item and give another item -> the function of the library that gives both."""


@handles(WRITTEN, *EXCHANGES)
def _exchanged(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 2 or node.keywords:
        return None
    item = f.as_number(f.expression(node.args[1]))
    place_and_value = place(f, node, node.args[0], function.__name__)
    if place_and_value is None or nothing_known(item) or is_unknown(place_and_value[1]):
        return unknown()
    heap = place_and_value[1]
    t = grown(f, heap, type_of(item))
    parts = f.components(f.program.call(f, node, EXCHANGES[function], [f.coerce(heap, t), f.coerce(item, t.item)], {}), 2)
    if parts is None:
        return unknown()
    give(f, place_and_value[0], parts[1])
    return parts[0]


@handles(FUNCTIONS, heapq.nlargest)
def _largest(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _first_of(f, node, "nlargest", args, kwargs, True)


@handles(FUNCTIONS, heapq.nsmallest)
def _smallest(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _first_of(f, node, "nsmallest", args, kwargs, False)


def _first_of(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value], reverse: bool) -> Value:
    """The first items of the list in order."""
    count, xs, key = CallArguments(name, args, kwargs).bind("n", "iterable", "key", key=Static(None))
    whole = ordered(f, node, "sorted", [xs], {"key": key, "reverse": Static(reverse)})
    if is_unknown(whole) or nothing_known(count):
        return unknown()
    return first_items(f, node, whole, opened(f, node, count))


@handles(FUNCTIONS, bisect.bisect_left)
def _left(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _place(f, node, "bisect_left", searching.bisect_left, args, kwargs)


@handles(FUNCTIONS, bisect.bisect_right)  # also named `bisect`
def _right(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _place(f, node, "bisect_right", searching.bisect_right, args, kwargs)


def _place(f: Frame, node: ast.AST, name: str, work: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Where an item belongs in a sorted list."""
    xs, item, low, high = CallArguments(name, args, kwargs).bind("a", "x", "lo", "hi", lo=Static(0), hi=Static(None))
    if any(is_unknown(v) for v in (xs, item, low, high)):
        return unknown()
    return f.program.call(f, node, work, [xs, item, low, length_of(f, node, xs) if high == Static(None) else high], {})


@handles(WRITTEN, bisect.insort_left, bisect.insort_right)  # the latter is also named `insort`
def _inserted(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`insort(xs, item)`."""
    work = searching.bisect_left if function is bisect.insort_left else searching.bisect_right
    if len(node.args) != 2 or node.keywords:
        return None
    item = f.as_number(f.expression(node.args[1]))
    place_and_value = place(f, node, node.args[0], function.__name__)
    if place_and_value is None or nothing_known(item):
        return Static(None)
    t = grown(f, place_and_value[1], type_of(item))
    if contains_unknown(t):
        give(f, place_and_value[0], f.not_yet(t))
        return Static(None)
    xs, item = f.coerce(place_and_value[1], t), f.coerce(item, t.item)
    at = _place(f, node, function.__name__, work, [xs, item], {})
    give(f, place_and_value[0], f.program.call(f, node, searching.inserted, [xs, at, item], {}))
    return Static(None)
