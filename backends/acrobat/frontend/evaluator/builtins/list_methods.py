"""Methods of lists."""

from __future__ import annotations

import ast
from dataclasses import replace

from backends.acrobat.core.types import LIST
from backends.acrobat.frontend.evaluator.builtins.builtins import builtin
from backends.acrobat.frontend.evaluator.builtins.ordering import ordered
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import give
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.tables import METHODS, handles
from backends.acrobat.frontend.kinds import as_kind, is_unknown, nothing_known, plain_container, type_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown
from backends.acrobat.library import searching


@handles(METHODS, "varying tuple")
def _tuple_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    if method.name not in ("index", "count", "__getitem__"):
        return f.problem(node, f"a tuple has no method `{method.name}`")
    return _list_method(f, node, replace(method, owner=as_kind(method.owner, LIST)), args, kwargs)


@handles(METHODS, TupleV, "tuple")
def _method_of_tuple(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """`index` and `count` of a tuple with values of run time in it."""
    items = list_of(f, node, f.components(method.owner) or [])
    return _list_method(f, node, replace(method, owner=items), args, kwargs)


@handles(METHODS, "list")
def _list_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    xs = plain_container(method.owner)
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if is_unknown(xs) or any(map(nothing_known, args)):
        return unknown()
    match method.name, args:
        case "sort", [] if owner is not None:
            place_and_value = place(f, node, owner, "sort")
            if place_and_value is not None:
                give(f, place_and_value[0], ordered(f, node, "sorted", [xs], kwargs))  # type: ignore[arg-type]
            return Static(None)
        case "remove", [item] if owner is not None and not kwargs:
            place_and_value = place(f, node, owner, "remove")
            if place_and_value is not None:
                give(f, place_and_value[0], f.call_with(searching.without_first, [xs, item], node))
            return Static(None)
        case "index", [item] if not kwargs:
            return f.call_with(searching.place, [xs, item], node)
        case "index", [item, start] if not kwargs:
            return f.call_with(searching.place_from, [xs, item, start], node)
        case "count", [item] if not kwargs:
            return f.call_with(searching.count, [xs, item], node)
        case "__getitem__", [item] if not kwargs:
            return f.host("list.get", [xs, item], type_of(xs).item, "element")
        case "copy", [] if not kwargs:
            return builtin(f, node, "list", [xs], {}, "")  # type: ignore[arg-type]
    return None
