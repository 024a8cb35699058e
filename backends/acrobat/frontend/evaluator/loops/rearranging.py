"""Whether the body of a loop gives other elements to a list in an attribute or item over which the loop walks, by the source of
the body and of the methods that it calls on the object: `s.items[0] = x`, `s.items.sort()`, `s.turn()`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.syntax_nodes import every_node

LONGER = ("append", "appendleft", "extend", "extendleft", "insert", "setdefault", "update")
SHORTER = ("clear", "pop", "popitem", "popleft", "remove")
ORDER = ("reverse", "rotate", "sort")


def rearranges(f: Frame, s: ast.For, path: ast.expr) -> bool:
    """Whether the body of the loop `s` over `path` gives other elements to the list there without making it longer or shorter.
    An element that has the loop's own index or key may be another one: the loop has been there."""
    shown = ast.dump(path)
    own = next((x.id for x in every_node(s.target) if isinstance(x, ast.Name)), None) if _counts(s.iter) else None
    if _changes(s.body, lambda x: ast.dump(x).replace("Store()", "Load()").replace("Del()", "Load()") == shown, own):
        return True
    if not isinstance(path, ast.Attribute) or not isinstance(path.value, ast.Name) or path.value.id not in f.env:
        return False
    t = type_or_none(f.env[path.value.id])
    if not isinstance(t, DataT):
        return False
    classes, name = f.program.datatypes.cases.get(t.name, ()), path.attr
    called = _called_on(s.body, path.value.id)
    return any(_method_changes(cls, method, name, set()) for cls in classes for method in called)


def _counts(walked: ast.expr) -> bool:
    """Whether the first name that a loop binds is the index or key of the element beside it."""
    match walked:
        case ast.Call(ast.Name("enumerate"), [_]) | ast.Call(ast.Attribute(_, "items"), []):
            return True
    return False


def _called_on(nodes: Iterable[ast.AST], name: str) -> set[str]:
    """The names of the methods that these nodes call on the variable `name`."""
    calls = (x.func for node in nodes for x in every_node(node) if isinstance(x, ast.Call))
    return {c.attr for c in calls if isinstance(c, ast.Attribute) and isinstance(c.value, ast.Name) and c.value.id == name}


def _method_changes(cls: type, method: str, attribute: str, visited: set[str]) -> bool:
    """Whether a method of a class, or one that it calls on its object, gives other elements to a list in an attribute."""
    meant: Any = inspect.getattr_static(cls, method, None)
    if method in visited or not isinstance(meant, FunctionType):
        return False
    definition = source_of(meant)[0]
    me = definition.args.args[0].arg if definition.args.args else ""

    def is_list(x: ast.expr) -> bool:
        return isinstance(x, ast.Attribute) and x.attr == attribute and isinstance(x.value, ast.Name) and x.value.id == me

    inner = _called_on(definition.body, me)
    return _changes(definition.body, is_list, None) or any(
        _method_changes(cls, m, attribute, visited | {method}) for m in inner
    )


def _changes(nodes: Iterable[ast.AST], is_list: Callable[[ast.expr], bool], own: str | None) -> bool:
    """Whether nodes assign to items of a list, have it in another order, or make it both longer and shorter. The item at the
    index `own`, a name, does not count."""
    called, inside = set(), [x for node in nodes for x in every_node(node)]
    for x in inside:
        match x:
            case ast.Subscript(owner, index, ast.Store()) if is_list(owner):
                if not (isinstance(index, ast.Name) and index.id == own):
                    return True
            case ast.Call(ast.Attribute(owner, method)) if is_list(owner):
                called.add(method)
    return bool(called & {*ORDER}) or bool(called & {*LONGER}) and bool(called & {*SHORTER})
