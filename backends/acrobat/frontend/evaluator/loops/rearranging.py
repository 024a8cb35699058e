"""Whether the body of a loop replaces or reorders the elements of the list in an attribute or item that the loop walks over,
judged by the source of the body and of the methods that it calls on the object: `s.items[0] = x`, `s.items.sort()`, `s.turn()`;
and whether it only assigns to entries of a dictionary over whose keys it walks."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.callables import nested
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned, stored
from backends.acrobat.frontend.kinds import kind, type_or_none
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, names_in
from backends.acrobat.frontend.values import unknown

LONGER = ("append", "appendleft", "extend", "extendleft", "insert", "setdefault", "update")
SHORTER = ("clear", "pop", "popitem", "popleft", "remove")
ORDER = ("reverse", "rotate", "sort")
READ_BY_METHODS = ("copy", "get", "items", "keys", "values")
READ_BY_FUNCTIONS = ("dict", "len", "list", "max", "min", "set", "sorted", "sum", "tuple")


def only_gets_entries(f: Frame, s: ast.For, name: str) -> bool:
    """Whether the body of the loop `s` changes the dictionary `name` only by assigning to entries: it loses no key, and the
    name is not rebound. Then an equal length means equal keys, and Python compares the length, too."""
    if kind(f.env.get(name, unknown())) != "dict" or name not in assigned(s.body):
        return False
    if name in {*stored(s.body), *names_in(s.target)}:
        return False
    understood = 0
    for x in (x for b in s.body for x in every_node(b)):
        match x:
            case ast.Subscript(ast.Name(whole), ctx=ast.Load() | ast.Store()) if whole == name:
                understood += 1
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(whole)]) if whole == name:
                understood += 1
            case ast.For(iter=ast.Name(whole)) | ast.comprehension(iter=ast.Name(whole)) if whole == name:
                understood += 1
            case ast.Call(ast.Name(function), [ast.Name(whole)], []) if whole == name and function in READ_BY_FUNCTIONS:
                understood += f.is_builtin(function)
            case ast.Call(ast.Attribute(ast.Name(whole), method)) if whole == name:
                understood += method in (*READ_BY_METHODS, "setdefault", "update")
    return understood == len(mentions(s.body, name)) and not seen_by_nested(f, s.body, name)


def seen_by_nested(f: Frame, nodes: Iterable[ast.AST], name: str) -> bool:
    """Whether a nested function that these nodes name, and that was made before them, sees the variable `name`."""
    values = [f.env[x] for x in dict.fromkeys(names_in(nodes)) if x in f.env]
    return any(name in nested.captured(f, inside) for value in values for inside in nested.nested_inside(value))


def rearranges(f: Frame, s: ast.For, path: ast.expr, of_keys: bool) -> bool:
    """Whether the body of the loop `s` over `path` replaces or reorders elements of the list there without changing its length,
    or keys of a dictionary if it is `of_keys`. Replacing the element at the loop's own index or key does not count: the loop
    has passed it."""
    shown = ast.dump(path)
    own = next((x.id for x in every_node(s.target) if isinstance(x, ast.Name)), None) if _counts(s.iter) else None
    own = None if own in stored(s.body) else own
    if _changes(s.body, lambda x: ast.dump(x).replace("Store()", "Load()").replace("Del()", "Load()") == shown, own, of_keys):
        return True
    if not of_keys and kind(f.borrowed(path)) == "dict" and _updated(s.body, shown):  # which may change what keys have
        return True
    if isinstance(path, ast.Name) and _changed_by_call(f, s.body, path.id):
        return True
    if not isinstance(path, ast.Attribute) or not isinstance(path.value, ast.Name) or path.value.id not in f.env:
        return False
    t = type_or_none(f.env[path.value.id])
    if not isinstance(t, DataT):
        return False
    classes, name = f.program.datatypes.cases.get(t.name, ()), path.attr
    called = _called_on(s.body, path.value.id)
    return any(_method_changes(cls, method, name, set()) for cls in classes for method in called)


def _updated(nodes: Iterable[ast.AST], shown: str) -> bool:
    """Whether nodes call `update` of the expression with this dump."""
    functions = (x.func for node in nodes for x in every_node(node) if isinstance(x, ast.Call))
    return any(isinstance(c, ast.Attribute) and c.attr == "update" and ast.dump(c.value) == shown for c in functions)


def _changed_by_call(f: Frame, nodes: Iterable[ast.AST], name: str) -> bool:
    """Whether a call in these nodes of a function of the source changes the variable `name`, which it is given or sees."""
    for x in (x for node in nodes for x in every_node(node) if isinstance(x, ast.Call)):
        given = [*x.args, *(k.value for k in x.keywords)]
        if f.function is not None and any(isinstance(a, ast.Name) and a.id == name for a in given):
            if name in f.changed_roots([x]):
                return True
        callee = f.env.get(x.func.id) if isinstance(x.func, ast.Name) else None
        if any(nested.may_change(f, inside, name) for inside in nested.nested_inside(callee)):
            return True
    return False


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
    """Whether a method of a class, or one that it calls on its object, replaces or reorders elements of a list in an
    attribute."""
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


def _changes(nodes: Iterable[ast.AST], is_list: Callable[[ast.expr], bool], own: str | None, of_keys: bool = False) -> bool:
    """Whether nodes assign to items of a list, reorder it, or make it both longer and shorter. Assigning to the item at the
    index `own`, a name, does not count; nor, if only keys count (`of_keys`), does assigning to an item, which can only add a
    key."""
    called, inside = set(), [x for node in nodes for x in every_node(node)]
    for x in inside:
        match x:
            case ast.Subscript(owner, ctx=ast.Store()) if of_keys and is_list(owner):
                called.add("setdefault")
            case ast.Subscript(owner, ctx=ast.Del()) if is_list(owner):
                called.add("pop")
            case ast.Subscript(owner, index, ast.Store()) if is_list(owner):
                if not (isinstance(index, ast.Name) and index.id == own):
                    return True
            case ast.Call(ast.Attribute(owner, method)) if is_list(owner):
                called.add(method)
    return bool(called & {*ORDER}) or bool(called & {*LONGER}) and bool(called & {*SHORTER})
