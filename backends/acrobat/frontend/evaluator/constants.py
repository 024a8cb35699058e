"""Dictionaries, lists and strings known at compile time: look-ups by keys that are known at run time only."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, INT, ListT
from backends.acrobat.frontend.evaluator.choice import among, choose
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.types import SYMBOL
from backends.acrobat.frontend.values import Dyn, Static, Value, is_unknown, known, type_of, type_or_none, unknown

LARGEST = 64
"""Entries that are compared with the key one after the other; a larger dictionary needs another form."""


def equal(f: Frame, key: Value, constant: Any) -> Value:
    """`key == constant`, for a key that is known at run time only."""
    if type_or_none(key) == SYMBOL and isinstance(constant, (str, Enum)) or type_or_none(key) == INT and type(constant) is int:
        return f.host("eq", [key, Static(constant)], BOOL, "same")
    return Static(False)


def contains(f: Frame, key: Value, keys: list[Any]) -> Value:
    """`key in keys`, for a key that is known at run time only and constants."""
    result: Value = Static(False)
    for constant in keys:
        same = equal(f, key, constant)
        if same != Static(False):
            result = same if result == Static(False) else f.host("bitor", [result, same], INT, "among")
    if result == Static(False) or type_of(result) == BOOL:
        return result
    return f.host("bool", [result], BOOL)


def entry(f: Frame, node: ast.AST, table: dict[Any, Any], key: Value) -> Value:
    """`table[key]`. A run-time key that is missing is an error of the instance."""
    is_known, constant = known(key)
    if is_known:
        if constant not in table:
            return f.problem(node, f"this dict has no key {constant!r}")
        return f.program.wrap(table[constant])
    return chosen(f, node, list(table), key, lambda k: f.program.wrap(table[k]))


def position(f: Frame, key: Value, keys: list[Any]) -> Dyn:
    """The index in the constants `keys` of a key known at run time only. One that is missing is an error of the instance."""
    at: Value = Static(len(keys))
    for i, constant in reversed(list(enumerate(keys))):
        same = equal(f, key, constant)
        if same != Static(False):
            at = choose(f, ast.Pass(), same, lambda i=i: Static(i), lambda at=at: at)  # type: ignore[misc]
    places = f.host("range", [Static(0), Static(len(keys)), Static(1)], ListT(INT))
    return f.host("list.get", [places, at], INT, "which")


def chosen(f: Frame, node: ast.AST, keys: list[Any], key: Value, make: Callable[[Any], Value]) -> Value:
    """`make(k)` for the constant `k` of `keys` that is equal to a key known at run time only."""
    if is_unknown(key):
        return unknown()
    keys = [k for k in keys if equal(f, key, k) != Static(False)]
    if not 0 < len(keys) <= LARGEST:
        what = "no key of this kind" if not keys else f"{len(keys)} entries, and {LARGEST} are the most"
        return f.problem(node, f"this dict has {what}", "keep the values in a list, or a buffer")

    return among(f, node, position(f, key, keys), [partial(make, k) for k in keys])


def of_constant(f: Frame, node: ast.AST, method: types.BuiltinMethodType, args: list[Value]) -> Value:
    """The result of a method of a dictionary, list, tuple or string known at compile time, none of which it may change."""
    owner: Any = method.__self__
    name = method.__name__
    facts = [known(a) for a in args]
    of_dicts_and_lists = ("get", "index", "items", "keys", "values", "count")
    of_strings = ("lower", "upper", "title", "strip", "lstrip", "rstrip", "split", "startswith", "endswith")
    more_of_strings = ("format", "join", "replace", "removeprefix", "removesuffix", "isdigit", "isalpha", "zfill", "find")
    if name not in (*of_dicts_and_lists, *of_strings, *more_of_strings):
        return f.problem(node, f"`{name}` of a constant {type(owner).__name__} is not in the language")
    if all(k for k, _ in facts):
        try:
            result = method(*(v for _, v in facts))
        except (ValueError, TypeError) as error:
            return f.problem(node, str(error))
        return Static(list(result) if name in ("items", "keys", "values") else result)
    if any(is_unknown(a) for a in args):
        return unknown()
    if name == "index" and len(args) == 1:
        return position(f, args[0], list(owner))
    if name == "get" and isinstance(owner, dict) and len(args) in (1, 2):
        default = args[1] if len(args) == 2 else Static(None)
        return choose(f, node, contains(f, args[0], list(owner)), lambda: entry(f, node, owner, args[0]), lambda: default)
    return f.problem(node, f"`{name}` of a constant takes what is known at compile time")
