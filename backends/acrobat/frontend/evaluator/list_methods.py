"""Methods of lists, and the functions of `heapq`, which change lists."""

from __future__ import annotations

import ast
import heapq
from typing import Any

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.builtins import builtin
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.mutation import give, place
from backends.acrobat.frontend.evaluator.ordering import ordered
from backends.acrobat.frontend.evaluator.tables import METHODS, WRITTEN, handles
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Static, Value, empty, is_unknown, nothing_known, type_of, unknown
from backends.acrobat.library import heaps, python


@handles(METHODS, "list")
def _list_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    xs = method.owner
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if is_unknown(xs) or any(map(nothing_known, args)):
        return unknown()
    match method.name, args:
        case "sort", [] if owner is not None:
            found = place(f, node, owner, "sort")
            if found is not None:
                give(f, found[0], ordered(f, node, "sorted", [xs], kwargs))  # type: ignore[arg-type]
            return Static(None)
        case "remove", [item] if owner is not None and not kwargs:
            found = place(f, node, owner, "remove")
            if found is not None:
                give(f, found[0], f.program.call(f, node, python.without_first, [xs, item], {}))
            return Static(None)
        case "index", [item] if not kwargs:
            return f.program.call(f, node, python.place, [xs, item], {})
        case "count", [item] if not kwargs:
            return f.program.call(f, node, python.count, [xs, item], {})
        case "__getitem__", [item] if not kwargs:
            return f.host("list.get", [xs, item], type_of(xs).item, "element")
        case "copy", [] if not kwargs:
            return builtin(f, node, "list", [xs], {}, "")  # type: ignore[arg-type]
    return None


@handles(WRITTEN, heapq.heappush)
def _heap_push(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 2 or node.keywords:
        return None
    item = f.expression(node.args[1])
    found = place(f, node, node.args[0], "heappush")
    if found is None or nothing_known(item):
        return Static(None)
    name, heap = found
    t = ListT(f.common([type_of(heap).item, type_of(item)]))
    if contains_unknown(t):
        give(f, name, empty(t, f.span))
        return Static(None)
    give(f, name, f.program.call(f, node, heaps.pushed, [f.coerce(heap, t), f.coerce(item, t.item)], {}))
    return Static(None)


@handles(WRITTEN, heapq.heappop)
def _heap_pop(f: Frame, node: ast.Call, function: Any) -> Value | None:
    if len(node.args) != 1 or node.keywords:
        return None
    found = place(f, node, node.args[0], "heappop")
    if found is None or is_unknown(found[1]):
        return unknown()
    name, heap = found
    popped = f.program.call(f, node, heaps.popped, [heap], {})
    parts = f.components(popped, 2)
    if parts is None:
        return unknown()
    give(f, name, parts[1])
    return parts[0]


@handles(WRITTEN, heapq.heapify)
def _heapify(f: Frame, node: ast.Call, function: Any) -> Value | None:
    found = place(f, node, node.args[0], "heapify") if len(node.args) == 1 else None
    if found is not None and not is_unknown(found[1]):
        give(f, found[0], f.program.call(f, node, heaps.heapified, [found[1]], {}))
    return Static(None)
