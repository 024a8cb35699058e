"""Functions of `functools.singledispatch` and `singledispatchmethod`, written out: a chain of `isinstance` in the order in
which Python looks for an implementation, with a call of that implementation in each branch."""

from __future__ import annotations

import ast
import builtins
import functools
from abc import ABCMeta
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from types import FunctionType, MappingProxyType
from typing import Any

from torch import Tensor

OF_PYTHON = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None), deque, OrderedDict)
"""Classes that an argument may be of although no class of a registration has them among its subclasses."""
ARGUMENTS = 4
"""Bit of a code's flags that says of `*args`; the next one says of `**kwargs`."""


def generic_of(value: Any) -> FunctionType | None:
    """The function of `functools.singledispatch` that a value is, or that dispatches for a method; None for other values."""
    if isinstance(value, functools.singledispatchmethod):
        return value.dispatcher  # type: ignore[return-value]
    own = isinstance(value, FunctionType) and value.__globals__ is vars(functools)
    return value if own and isinstance(getattr(value, "registry", None), MappingProxyType) else None


def written_out(generic: FunctionType, of_method: bool) -> tuple[FunctionType, ast.FunctionDef] | None:
    """A function that computes what `generic` does, which is `of_method` if its second argument decides, and its definition.
    None where the implementations take different parameters, where some are no functions, and where no order of the classes
    has the first that fits be the one that Python takes."""
    registry: dict[type, Any] = dict(generic.registry)  # type: ignore[attr-defined]
    base = registry.pop(object)
    implementations = (base, *registry.values())
    if not all(isinstance(x, FunctionType) for x in implementations) or len(set(map(_parameters, implementations))) > 1:
        return None
    functions = list(dict.fromkeys(registry.values()))
    classes = sorted(registry, key=lambda c: (sum(issubclass(x, c) for x in registry), functions.index(registry[c])))
    names = base.__code__.co_varnames[: base.__code__.co_argcount]
    has_more = base.__code__.co_kwonlyargcount or base.__code__.co_flags & (ARGUMENTS | 2 * ARGUMENTS)
    if len(names) <= of_method or has_more or not _first_fits(classes, generic.dispatch):  # type: ignore[attr-defined]
        return None
    known: dict[str, Any] = {"__name__": base.__module__, "__builtins__": builtins, f"_{base.__name__}": base}
    body = list[ast.stmt]()
    for i, (function, of_class) in enumerate(groupby(classes, key=lambda c: registry[c])):
        called, of_classes = f"_{base.__name__}_{i}", f"_classes_{i}"
        known |= {called: function, of_classes: tuple(of_class)}
        test = ast.Call(_name("isinstance"), [_name(names[of_method]), _name(of_classes)], [])
        body.append(ast.If(test, [_given_on(called, names)], []))
    body.append(_given_on(f"_{base.__name__}", names))
    made = FunctionType(base.__code__, known, base.__name__, base.__defaults__, base.__closure__)
    made.__qualname__ = base.__qualname__
    count = len(base.__defaults__ or ())
    arguments = ast.arguments([], [ast.arg(x) for x in names], None, [], [], None, [ast.Constant(None) for _ in range(count)])
    definition = ast.FunctionDef(base.__name__, arguments, body, [])
    definition.lineno = definition.end_lineno = base.__code__.co_firstlineno
    definition.col_offset = definition.end_col_offset = 0
    return made, ast.fix_missing_locations(definition)


def _given_on(function: str, names: Sequence[str]) -> ast.Return:
    return ast.Return(ast.Call(_name(function), [_name(x) for x in names], []))


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _parameters(function: FunctionType) -> tuple[object, ...]:
    """What functions have to agree in to be called with the same arguments."""
    code = function.__code__
    more = code.co_flags & (ARGUMENTS | 2 * ARGUMENTS)
    return code.co_argcount, code.co_kwonlyargcount, more, repr(function.__defaults__)


def _first_fits(classes: list[type], dispatch: Callable[[type], Any]) -> bool:
    """Whether of each class that an argument may be of, the first of `classes` that it is derived from is what Python takes."""
    plain = (type.__instancecheck__, ABCMeta.__instancecheck__, type(Tensor).__instancecheck__)
    if any(type(c).__instancecheck__ not in plain for c in classes):
        return False
    bases: tuple[type, ...] = (*classes, *OF_PYTHON, defaultdict, Counter, Tensor)
    for cls in {x: None for c in bases for x in _derived(c)}:
        first = next((c for c in classes if issubclass(cls, c)), object)
        try:
            if dispatch(cls) is not dispatch(first):
                return False
        except RuntimeError:  # two abstract classes fit alike
            return False
    return True


def _derived(cls: type) -> Iterator[type]:
    """A class and all that are derived from it."""
    yield cls
    below: list[type] = type.__subclasses__(cls)
    for c in below:
        yield from _derived(c)
