"""Keys by which `max` and `min` compare: `max(options(), key=lambda option: option[0])`. Python computes each key when the
element was taken, before it takes the next one; the compiled program when it has all elements. Where taking the elements
changes something, that is the same if a key is computed from nothing but numbers and strings in tuples, which never change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from inspect import isgeneratorfunction
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import ScalarT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.own_nodes import is_generator
from backends.acrobat.frontend.kinds import is_unknown, type_inside
from backends.acrobat.frontend.specials import Method, Nested
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Static, Value

Path = tuple[int, ...]
"""The indices that lead to a part of an element."""


def compares_by_parts(node: ast.Call, callee: Value) -> bool:
    """Whether a call is one of `max` or `min` whose only keyword is a key that computes from parts of the element alone."""
    if callee not in (Static(max), Static(min)) or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return False
    return _parts_read(node) is not None


def refuse_changed_keys(f: Frame, node: ast.Call, callee: Value, args: Sequence[Value], changed: Set[str]) -> None:
    """Raises Refused for such a call if taking the elements one by one changes something, and so may what is compared."""
    if not changed or not compares_by_parts(node, callee) or _is_computed_before(f, node.args[0]) or is_unknown(args[0]):
        return
    item = getattr(type_inside(args[0]), "item", None)
    for path in _parts_read(node) or ():
        part = _part(item, path)
        if not isinstance(part, ScalarT) and not contains_unknown(part):
            read = f"the key reads {describe(part)}, and not only numbers and strings in tuples"
            what = f"taking the elements changes {f.shown(min(changed))} meanwhile, and {read}"
            raise Refused(what, "write `list(...)` around the elements")


def _is_computed_before(f: Frame, elements: ast.expr) -> bool:
    """Whether an expression gives a list, say, whose elements are all computed before the first one is taken."""
    callee = f.callees.get(elements) if isinstance(elements, ast.Call) else None
    if isinstance(callee, Nested):
        return not is_generator(callee.node)
    function = callee.function if isinstance(callee, Method) else getattr(callee, "value", None)
    if isinstance(function, FunctionType):
        return not isgeneratorfunction(function)
    return any(function is x for x in (list, sorted, tuple)) or not isinstance(elements, (ast.Call, ast.GeneratorExp))


def _parts_read(node: ast.Call) -> list[Path] | None:
    match node.keywords:
        case [ast.keyword("key", ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), body))]:
            paths = list(_paths(body, name))
            return None if None in paths else paths  # type: ignore[return-value]
    return None


def _paths(node: ast.expr, name: str) -> Iterator[Path | None]:
    """The parts of the value of a name from which an expression is computed. None is among them if it may compute from anything
    else, or raise an exception."""
    match node:
        case ast.Constant():
            pass
        case ast.Tuple(parts):
            for part in parts:
                yield from _paths(part, name)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), of):
            yield from _paths(of, name)
        case ast.BinOp(a, ast.Add() | ast.Sub() | ast.Mult(), b):
            yield from _paths(a, name)
            yield from _paths(b, name)
        case _:
            yield _path(node, name)


def _path(node: ast.expr, name: str) -> Path | None:
    match node:
        case ast.Name(id) if id == name:
            return ()
        case ast.Subscript(of, ast.Constant(int(index))) if (before := _path(of, name)) is not None:
            return (*before, index)
        case ast.Subscript(of, ast.UnaryOp(ast.USub(), ast.Constant(int(index)))) if (before := _path(of, name)) is not None:
            return (*before, -index)
    return None


def _part(type: Any, path: Path) -> Any:
    """The type of a part of tuples; as far as the path leads through tuples of known length that cannot change."""
    for index in path:
        if not isinstance(type, TupleT) or type.listed or not -len(type.items) <= index < len(type.items):
            break
        type = type.items[index]
    return type
