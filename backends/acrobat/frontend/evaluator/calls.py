"""Calls: which function is meant, its arguments, and what the caller knows about them afterwards."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator import mutation
from backends.acrobat.frontend.evaluator.arguments import CallArguments
from backends.acrobat.frontend.evaluator.attributes import attribute
from backends.acrobat.frontend.evaluator.choice import among
from backends.acrobat.frontend.evaluator.conditions import truth
from backends.acrobat.frontend.evaluator.constants import of_constant
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import mapped
from backends.acrobat.frontend.evaluator.objects import construct, instantiate
from backends.acrobat.frontend.evaluator.sums import total
from backends.acrobat.frontend.evaluator.tables import (
    AFTER_CALLS,
    CALLS,
    EXPRESSIONS,
    FUNCTIONS,
    LIBRARIES,
    METHODS,
    handles,
    lookup,
)
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import (
    Closure,
    Dyn,
    Method,
    OneOf,
    Static,
    TupleV,
    Value,
    is_list,
    is_object,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_or_none,
    unknown,
)

WRITTEN: dict[Any, Callable[[Frame, ast.Call, Any], Value | None]] = {}
"""Functions that look at their arguments as written -> (frame, call, function) -> the result, or None for a plain call."""


@handles(WRITTEN, sum, functools.reduce)
def _sum(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return total(f, node, function)


@handles(WRITTEN, isinstance)
def _isinstance(f: Frame, node: ast.Call, function: Any) -> Value | None:
    tested = node.args[0] if len(node.args) == 2 and not node.keywords else None
    return truth(f, node) if isinstance(tested, (ast.Name, ast.Attribute)) and is_object(f.borrowed(tested)) else None


@handles(WRITTEN, bool)
def _bool(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return truth(f, node.args[0]) if len(node.args) == 1 and not node.keywords else None


@handles(EXPRESSIONS, ast.Call)
def _call(f: Frame, node: ast.Call, hint: str) -> Value:
    callee = f.borrowed(node.func)
    if callee == Static(zip) and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and not node.keywords:
        return _unzipped(f, node, f.borrowed(node.args[0].value))
    match callee, node.func:
        case Method(Dyn(type=ListT(rows=None)), "pop"), ast.Attribute(owner) if len(node.args) <= 1 and not node.keywords:
            return mutation.pop(f, node, owner, f.expression(node.args[0]) if node.args else Static(-1))
        case Method(Dyn(type=ListT(rows=None)), "popleft"), ast.Attribute(owner) if not node.args:
            return mutation.pop(f, node, owner, Static(0))
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return f.problem(node, "`*` and `**` arguments are not in the language", "write the arguments one by one")
    if is_unknown(callee):
        return unknown()
    if isinstance(callee, Static) and (written := lookup(WRITTEN, callee.value)) is not None:
        found: Value | None = written(f, node, callee.value)
        if found is not None:
            return found
    keeps = isinstance(callee, Static) and isinstance(callee.value, type) and dataclasses.is_dataclass(callee.value)
    read = f.expression if keeps else f.borrowed
    given = [*node.args, *(k.value for k in node.keywords)]
    lent = {a.id for a in given if isinstance(a, ast.Name) and a.id in f.owned}
    args = [read(a) for a in node.args]
    kwargs = {k.arg: read(k.value) for k in node.keywords if k.arg}
    before, f.lent = f.lent, lent
    try:
        result = called(f, node, callee, args, kwargs, hint)
    finally:
        f.lent = before
    for rule in AFTER_CALLS:
        rule(f, node, callee, result)
    if _may_hold_lists(result) and not _makes_lists(callee):
        for a in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(a, ast.Name):
                f.owned.discard(a.id)  # the result may be, or contain, the very list
    return result


def _unzipped(f: Frame, node: ast.AST, xs: Value) -> Value:
    """`zip(*xs)` of a list of tuples: a tuple of lists."""
    t = type_or_none(xs)
    if nothing_known(xs) or isinstance(t, ListT) and contains_unknown(t):
        return unknown()
    if not isinstance(t, ListT) or not isinstance(t.item, TupleT):
        return f.problem(node, "`zip(*xs)` takes a list of tuples here")

    def component(i: int) -> Value:
        return mapped(f, [xs], lambda pair: (f.components(pair) or [])[i])  # type: ignore[list-item]

    return TupleV(tuple(component(i) for i in range(len(t.item.items))))


def _may_hold_lists(value: Value) -> bool:
    def holds(t: Any) -> bool:
        if isinstance(t, ListT) and t.rows is not None:
            return False  # a tensor: `_forget_aliases` sees to those
        return isinstance(t, (ListT, DataT)) or (isinstance(t, TupleT) and any(map(holds, t.items)))

    return holds(type_or_none(value))


def _makes_lists(callee: Value) -> bool:
    return isinstance(callee, Static) and getattr(builtins, getattr(callee.value, "__name__", ""), None) is callee.value


def called(f: Frame, node: ast.AST, callee: Value, args: Sequence[Value], kwargs: dict[str, Value], hint: str = "") -> Value:
    """A call with its arguments compiled."""
    handler = CALLS.get(kind(callee))
    if handler is None:
        return f.problem(node, "this cannot be called")
    return handler(f, node, callee, list(args), dict(kwargs), hint)


@handles(CALLS, OneOf)
def _one_called(f: Frame, node: ast.AST, callee: OneOf, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """A call of the module that stands at a place known at run time only: a branch for each."""
    arms = [partial(called, f, node, each, args, kwargs) for each in callee.alternatives]
    return among(f, node, callee.index, arms)


@handles(CALLS, Closure)
def _lambda(f: Frame, node: ast.AST, callee: Closure, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """The expression of a lambda, compiled here, with the names that it saw where it was written."""
    written = callee.node
    parameters = [a.arg for a in (*written.args.args, *written.args.kwonlyargs)]
    values = CallArguments("lambda", args, kwargs).bind(*parameters)
    before, f.env = f.env, {**callee.env, **dict(zip(parameters, values, strict=True))}
    try:
        return f.expression(written.body)
    finally:
        f.env = before


@handles(CALLS, Method)
def _method(f: Frame, node: ast.AST, callee: Method, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    owner, name = callee.owner, callee.name
    if isinstance(owner, Dyn) and isinstance(owner.type, DataT) and isinstance(callee.function, types.FunctionType):
        return f.program.call(f, node, callee.function, [owner, *args], kwargs)
    handler = METHODS.get(kind(owner))
    found = None if handler is None else handler(f, node, callee, args, kwargs)
    if found is not None:
        return found
    if nothing_known(owner):
        return unknown()
    if name == "append":
        return f.problem(node, "`append` gives nothing", "it stands as a statement of its own")
    if is_list(owner):
        return f.problem(node, f"`{name}` of a list is not in the language", "build a new list, with a comprehension or a loop")
    return f.problem(node, f"`{name}` is not a method of the language here", "LANGUAGE.md lists what is")


@handles(CALLS, Static)
def _function(f: Frame, node: ast.Call, callee: Static, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    value = callee.value
    if isinstance(value, operator.attrgetter) and len(args) == 1 and not kwargs:
        return attribute(f, node, args[0], value.__reduce__()[1][0])
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return construct(f, node, value, args, kwargs)
    if (handler := lookup(FUNCTIONS, value)) is not None:
        result: Value = handler(f, node, args, kwargs, hint)
        return result
    for find in LIBRARIES:
        if (of_library := find(value)) is not None:
            return of_library(f, node, args, kwargs, hint)
    if isinstance(value, types.FunctionType):
        return f.program.call(f, node, value, args, kwargs)
    if isinstance(value, type) and isinstance(value.__init__, types.FunctionType):  # type: ignore[misc]
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (dict, tuple, list, str)) and not kwargs:
        return of_constant(f, node, value, args)
    facts = [known(a) for a in args]
    if getattr(value, "__module__", "") == "math" and args and not kwargs and all(k for k, _ in facts):
        return Static(value(*(v for _, v in facts)))
    written = ast.unparse(getattr(node, "func", node))
    return f.problem(node, f"`{written}` is not in the language", "LANGUAGE.md lists the functions and operations")
