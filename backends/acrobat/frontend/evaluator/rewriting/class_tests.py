"""Calls of functions that only test the class of a value, such as `is_leaf(node)` or `torch.is_tensor(x)`, are replaced by the
test itself, so that both branches after it know the class.

    def is_leaf(node):
        return isinstance(node, Leaf)

    if is_leaf(child):         if isinstance(child, Leaf):
        ...                        ...
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Mapping
from typing import Any

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.evaluator.syntax.quoting import replaced
from backends.acrobat.frontend.source import closure, source_of
from backends.acrobat.frontend.syntax_nodes import bound_names
from backends.acrobat.library import words

ASKING = {"isinstance": isinstance, "type": type}
"""The names that what is put in the place of a call uses, which must mean the same where the call stands."""


def with_class_tests(
    definition: ast.FunctionDef, namespace: Mapping[str, Any], note: Callable[[str, Any], None]
) -> ast.FunctionDef:
    """A function with such calls replaced. `namespace` has the values of the names from outside of it. `note` is called with
    each name in a replaced call, and its value."""
    bound = bound_names(definition)
    if any(name in bound or namespace.get(name, meant) is not meant for name, meant in ASKING.items()):
        return definition

    def instead(node: ast.AST) -> ast.AST:
        match node:
            case ast.Call(
                ast.Name(name) | ast.Attribute(ast.Name(name)) as function, [ast.Name() | ast.Attribute() as tested], []
            ):
                if name not in bound and name in namespace:
                    called = namespace[name] if isinstance(function, ast.Name) else _of_module(namespace[name], function.attr)
                    if (test := _test_of(called, tested, node)) is not None:
                        note(name, namespace[name])
                        return test
        return node

    result: ast.FunctionDef = replaced(definition, instead)
    return result


def _of_module(module: Any, name: str) -> Any:
    return getattr(module, name, None) if isinstance(module, types.ModuleType) else None


def _test_of(function: Any, tested: ast.expr, where: ast.AST, callers: tuple[Any, ...] = ()) -> ast.expr | None:
    """The test of classes that a one-argument function makes of its argument, written with `tested` for the argument. None if
    it does more, tests something else, or is one of `callers` (a recursion)."""
    if (
        not isinstance(function, types.FunctionType)
        or function.__code__.co_argcount != 1
        or function.__code__.co_kwonlyargcount
    ):
        return None
    if function in callers or function.__module__ == words.__name__:  # for those the evaluator has handlers
        return None
    try:
        definition, _ = source_of(function)
    except CompileError:  # without a source the call tells
        return None
    if definition.decorator_list:
        return None
    namespace = function.__globals__ | closure(function)
    match definition.body:
        case [*text, ast.Return(ast.expr() as test)] if all(
            isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in text
        ):
            return _test(test, function.__code__.co_varnames[0], tested, namespace, where, (*callers, function))
    return None


def _test(
    test: ast.expr, parameter: str, tested: ast.expr, namespace: Mapping[str, Any], where: ast.AST, callers: tuple[Any, ...]
) -> ast.expr | None:
    """A test of classes with `tested` in place of the parameter and classes in place of their names; None for other tests.
    `callers`: the functions that are being asked, the innermost one last."""

    def part(x: ast.expr) -> ast.expr | None:
        return _test(x, parameter, tested, namespace, where, callers)

    def call(name: str, *arguments: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.copy_location(ast.Name(name, ast.Load()), where), list(arguments), []), where)

    match test:
        case ast.Call(ast.Name("isinstance"), [ast.Name(name), classes], []) if name == parameter:
            return None if (found := _classes(classes, namespace)) is None else call("isinstance", tested, found)
        case ast.Compare(ast.Call(ast.Name("type"), [ast.Name(name)], []), [ast.Is() | ast.Eq() as op], [cls]) if (
            name == parameter
        ):
            found = _classes(cls, namespace)
            return None if found is None else ast.copy_location(ast.Compare(call("type", tested), [op], [found]), where)
        case ast.Call(ast.Name(function), [ast.Name(name)], []) if name == parameter:
            return _test_of(namespace.get(function), tested, where, callers)
        case ast.UnaryOp(ast.Not(), operand):
            inner = part(operand)
            return None if inner is None else ast.copy_location(ast.UnaryOp(ast.Not(), inner), where)
        case ast.BoolOp(op, values):
            parts = [x for x in map(part, values) if x is not None]
            return ast.copy_location(ast.BoolOp(op, parts), where) if len(parts) == len(values) else None
    return None


def _classes(written: ast.expr, namespace: Mapping[str, Any]) -> ast.expr | None:
    """A constant for the class, or the tuple of classes, that an expression of names stands for; None for what is neither."""

    def resolved(x: ast.expr) -> Any:
        match x:
            case ast.Name(name):
                return namespace.get(name, getattr(builtins, name, None))
            case ast.Attribute(owner, name):
                return getattr(resolved(owner), name, None)
            case ast.Tuple(items):
                return tuple(map(resolved, items))
        return None

    found = resolved(written)
    of_classes = isinstance(found, type) or isinstance(found, tuple) and found and all(isinstance(c, type) for c in found)
    return ast.copy_location(ast.Constant(found), written) if of_classes else None
