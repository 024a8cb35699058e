"""Dictionaries known at compile time: look-ups by keys that are known at run time only."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import Any

from torch import nn

from backends.acrobat.core.types import BOOL, INT, ListT
from backends.acrobat.frontend import modules
from backends.acrobat.frontend.conditions import choose
from backends.acrobat.frontend.frame import Frame
from backends.acrobat.frontend.values import (
    SYMBOL,
    Dyn,
    Module,
    OneOf,
    Static,
    Value,
    is_unknown,
    known,
    type_of,
    type_or_none,
    unknown,
)

LARGEST = 64
"""Entries that are compared with the key one after the other; a larger dictionary needs another form."""


def equal(f: Frame, key: Value, constant: Any) -> Value:
    """Whether a key known at run time only is a constant."""
    if type_or_none(key) == SYMBOL and isinstance(constant, (str, Enum)) or type_or_none(key) == INT and type(constant) is int:
        return f.host("eq", [key, Static(constant)], BOOL, "same")
    return Static(False)


def contains(f: Frame, key: Value, keys: list[Any]) -> Value:
    """`key in keys` for constants."""
    result: Value = Static(False)
    for constant in keys:
        same = equal(f, key, constant)
        if same != Static(False):
            result = same if result == Static(False) else f.host("bitor", [result, same], INT, "among")
    if result == Static(False) or type_of(result) == BOOL:
        return result
    return f.host("bool", [result], BOOL)


def entry(f: Frame, node: ast.AST, table: dict[Any, Any], key: Value) -> Value:
    """`table[key]`. A key that is not there is an error of the instance."""
    is_known, constant = known(key)
    if is_known:
        if constant not in table:
            return f.problem(node, f"this dict has no key {constant!r}")
        return f.program.wrap(table[constant])
    return _chosen(f, node, list(table), key, lambda k: f.program.wrap(table[k]))


def module(f: Frame, node: ast.AST, owner: Module, key: Value) -> Value:
    """`modules[key]` of a ModuleDict or ParameterDict by a string known at compile time."""
    is_known, constant = known(key)
    if is_unknown(key):
        return unknown()
    held = owner.module
    assert isinstance(held, (nn.ModuleDict, nn.ParameterDict))
    if is_known:
        if constant not in held:
            return f.problem(node, f"this {type(held).__name__} has no key {constant!r}")
        return modules.attribute(f, node, owner, constant)
    if isinstance(held, nn.ParameterDict):
        return _chosen(f, node, list(held.keys()), key, lambda k: modules.attribute(f, node, owner, k))
    keys = list(held.keys())
    at = position(f, key, keys)
    return OneOf(at, tuple(modules.attribute(f, node, owner, k) for k in keys))


def position(f: Frame, key: Value, keys: list[Any]) -> Dyn:
    """Where a key known at run time only stands among constants. One that is not there is an error of the instance."""
    at: Value = Static(len(keys))
    for i, constant in reversed(list(enumerate(keys))):
        same = equal(f, key, constant)
        if same != Static(False):
            at = f.chosen(same, lambda i=i: Static(i), lambda at=at: at)  # type: ignore[misc]
    places = f.host("range", [Static(0), Static(len(keys)), Static(1)], ListT(INT))
    return f.host("list.get", [places, at], INT, "which")


def _chosen(f: Frame, node: ast.AST, keys: list[Any], key: Value, make: Callable[[Any], Value]) -> Value:
    if is_unknown(key):
        return unknown()
    keys = [k for k in keys if equal(f, key, k) != Static(False)]
    if not 0 < len(keys) <= LARGEST:
        what = "no key of this kind" if not keys else f"{len(keys)} entries, and {LARGEST} are the most"
        return f.problem(node, f"this dict has {what}", "keep the values in a list, or a buffer")

    at = position(f, key, keys)

    def other(i: int) -> Value:
        if i == len(keys) - 1:
            return make(keys[i])
        return choose(f, node, f.host("eq", [at, Static(i)], BOOL, "this"), lambda: make(keys[i]), lambda: other(i + 1))

    return other(0)
