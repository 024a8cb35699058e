"""Calls of what is known at compile time: functions, classes, and methods of constants."""

from __future__ import annotations

import ast
import dataclasses
import functools
import operator
import types
from enum import EnumType
from typing import Any

from backends.acrobat.core.made_objects import computes_fields
from backends.acrobat.core.types import FLOAT
from backends.acrobat.frontend.derived_containers import container_of
from backends.acrobat.frontend.evaluator.containers.containers import as_set, staged_constant
from backends.acrobat.frontend.evaluator.containers.derived import made_derived
from backends.acrobat.frontend.evaluator.expressions.callees import called, is_method_of_text
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.constants import method_of, of_constant
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.objects.enumerations import member
from backends.acrobat.frontend.evaluator.objects.instantiation import has_no_init, instantiate
from backends.acrobat.frontend.evaluator.scalars import numbers
from backends.acrobat.frontend.evaluator.scalars.strings import method_of_string
from backends.acrobat.frontend.evaluator.tables import CALLS, FUNCTIONS, LIBRARY_RULES, handles, lookup
from backends.acrobat.frontend.kinds import is_number, is_string, known, type_of
from backends.acrobat.frontend.refusals import home_of, of_home, of_numpy, refusal
from backends.acrobat.frontend.source import stripped
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.values import Static, TupleV, Value


def _of_number(f: Frame, node: ast.AST, function: Any, args: list[Value]) -> Value | None:
    """The result of a method of ints or floats: of a number that is known, or called with the number as `float.is_integer(x)`;
    None for other functions."""
    if isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, (int, float)):
        return numbers.method(f, node, Static(function.__self__), function.__name__, args)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ in (int, float) and args:
        owner = args[0]
        if is_number(owner) and function.__objclass__ is (float if type_of(owner) == FLOAT else int):
            return numbers.method(f, node, owner, function.__name__, args[1:])
    return None


def _made_of(f: Frame, node: ast.Call, cls: Any, args: list[Value]) -> Value:
    """`cls._make(items)` of a named tuple. A list of another length is an error of the instance. Raises Refused."""
    (items,) = CallArguments("_make", args, {}).bind("iterable")
    whole = iterable(f, items)
    written = f.display(whole)
    parts = f.components(whole if written is None else TupleV(tuple(written)), len(cls._fields))
    if parts is None:
        raise Refused(f"`_make` of `{cls.__name__}` takes {len(cls._fields)} values", "give it as many as it has fields")
    return instantiate(f, node, cls, parts, {})


@handles(CALLS, Static)
def _function(f: Frame, node: ast.Call, callee: Static, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    value = callee.value
    if isinstance(value, operator.attrgetter) and len(args) == 1 and not kwargs:
        found = [
            functools.reduce(functools.partial(attribute, f, node), name.split("."), args[0]) for name in value.__reduce__()[1]
        ]
        return found[0] if len(found) == 1 else TupleV(tuple(found))
    if isinstance(value, operator.itemgetter) and len(args) == 1 and not kwargs:
        keys = [ast.Constant(key) for key in value.__reduce__()[1]]
        parts = [f.borrowed(ast.copy_location(ast.Subscript(CompiledNode(args[0]), key, ast.Load()), node)) for key in keys]
        return parts[0] if len(parts) == 1 else TupleV(tuple(parts))
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        return (instantiate if computes_fields(value) else construct)(f, node, value, args, kwargs)
    if (handler := lookup(FUNCTIONS, value)) is not None:
        result: Value = handler(f, node, args, kwargs, hint)
        return result
    if container_of(value) is not None:
        return made_derived(f, node, value, args, kwargs, hint)
    if (outside := of_home(ast.unparse(getattr(node, "func", node)), value)) is not None:
        return f.problem(node, *outside)
    for find in LIBRARY_RULES:
        if (of_library := find(value)) is not None:
            return of_library(f, node, args, kwargs, hint)
    if isinstance(value, EnumType) and len(args) == 1 and not kwargs:
        return member(f, node, value, args[0])
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return instantiate(f, node, value, args, kwargs)
    if isinstance(stripped(value), types.FunctionType):
        return f.program.call(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and value.__name__ == "_make" and hasattr(value.__self__, "_fields"):
        return _made_of(f, node, value.__self__, args)
    if isinstance(value, types.MethodType) and isinstance(value.__self__, type):
        return f.program.call(f, node, value.__func__, [Static(value.__self__), *args], kwargs)
    if isinstance(value, type) and (isinstance(value.__init__, types.FunctionType) or has_no_init(value)):  # type: ignore[misc]
        return instantiate(f, node, value, args, kwargs)
    if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
        return f.program.call(f, node, value.__func__, [f.program.wrap(value.__self__), *args], kwargs)
    if isinstance(value, functools.partial):
        named = {k: f.program.wrap(v) for k, v in value.keywords.items()} | kwargs
        return called(f, node, f.program.wrap(value.func), [*map(f.program.wrap, value.args), *args], named)
    if (call := method_of(value, "__call__")) is not None:  # an object that the model holds
        return f.program.call(f, node, call, [Static(value), *args], kwargs)
    if isinstance(value, types.MethodDescriptorType) and value.__objclass__ is str and args:  # `key=str.lower`
        of_string = method_of_string(f, node, args[0], value.__name__, args[1:], kwargs) if is_string(args[0]) else None
        if of_string is not None:
            return of_string
    if is_method_of_text(callee) and (kwargs or not all(known(a)[0] for a in args)):
        of_string = method_of_string(f, node, Static(value.__self__), value.__name__, args, kwargs)
        if of_string is not None:
            return of_string
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (set, frozenset)) and value.__self__:
        owner = as_set(f, node, Static(value.__self__))
        return called(f, node, Method(owner, value.__name__, None), args, kwargs, hint)
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, (dict, tuple, list, str)) and not kwargs:
        return of_constant(f, node, value, args, functools.partial(staged_constant, f, node))
    if (of_number := _of_number(f, node, value, args)) is not None and not kwargs:
        return of_number
    facts = [known(a) for a in args]
    if getattr(value, "__module__", "") == "math" and args and not kwargs and all(k for k, _ in facts):
        return Static(value(*(v for _, v in facts)))
    if home_of(value).partition(".")[0] == "numpy" and args and not kwargs and all(k for k, _ in facts):
        number = value(*(v for _, v in facts))
        if getattr(number, "ndim", None) == 0:  # `np.sqrt(2.0)`: a number of the source
            return Static(number.item())
    written = ast.unparse(getattr(node, "func", node))
    if home_of(value).partition(".")[0] == "numpy":
        return f.problem(node, *of_numpy(written, value.__name__))
    what = f"`{written}` is not in the language"
    return f.problem(node, *refusal(written, what, "LANGUAGE.md lists the functions and operations"))
