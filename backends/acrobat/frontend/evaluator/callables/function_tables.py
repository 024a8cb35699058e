"""Dictionaries of functions that the source writes out: `{"leaf": self.leaf, "node": self.node}[node.kind](node)`.

The functions are known at compile time, so the dictionary is no value of the program: a look-up gives the function, or if the
key is known at run time only, one of the functions.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from typing import Any

from backends.acrobat.frontend.evaluator.choices.choice import choose, fails_always, is_function
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.keywords import walked
from backends.acrobat.frontend.evaluator.objects.constants import contains, no_such_key, position
from backends.acrobat.frontend.evaluator.tables import ITERATION, LENGTHS, MEMBERSHIP, METHODS, SUBSCRIPTS, handles
from backends.acrobat.frontend.kinds import is_unknown, known
from backends.acrobat.frontend.specials import FunctionTable, Method, OneOf
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown


def table_of(keys: Sequence[Value], values: Sequence[Value]) -> FunctionTable | None:
    """The table of these entries; None if they are not functions with keys that are known."""
    names = [known(k) for k in keys]
    if not values or not all(map(is_function, values)) or not all(there and isinstance(k, Hashable) for there, k in names):
        return None
    return FunctionTable(tuple(dict(zip((k for _, k in names), values, strict=True)).items()))


@handles(SUBSCRIPTS, FunctionTable)
def _of_key(f: Frame, node: ast.AST, table: FunctionTable, index: ast.expr) -> Value:
    return _looked_up(f, node, table, f.borrowed(index))


def _looked_up(f: Frame, node: ast.AST, table: FunctionTable, key: Value) -> Value:
    entries: dict[Any, Value] = dict(table.entries)
    is_known, constant = known(key)
    if is_known:
        if constant in entries:
            return entries[constant]
        failed: Value = fails_always(f, node, KeyError(constant), f"this dict has no key {constant!r}")
        return failed
    if is_unknown(key):
        return unknown()
    if not entries:
        return no_such_key(f, key)
    return OneOf(position(f, node, key, list(entries)), tuple(entries.values()), key=key, keys=tuple(entries))


@handles(MEMBERSHIP, FunctionTable)
def _has_key(f: Frame, node: ast.AST, table: FunctionTable, key: Value) -> Value:
    entries = dict[Any, Value](table.entries)
    is_known, constant = known(key)
    if is_known:
        return Static(constant in entries)
    return unknown() if is_unknown(key) else contains(f, key, list(entries))


@handles(METHODS, FunctionTable)
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    table: FunctionTable = method.owner
    match method.name, args:
        case "get", [key, *default] if len(default) < 2:
            other = default[0] if default else Static(None)
            is_known, constant = known(key)
            if is_known:
                result: Value = dict(table.entries).get(constant, other)
                return result
            return choose(f, node, _has_key(f, node, table, key), lambda: _looked_up(f, node, table, key), lambda: other)
        case name, []:
            return walked(dict(table.entries), name)
    return None


@handles(ITERATION, FunctionTable)
def _keys(f: Frame, table: FunctionTable) -> Value:
    return TupleV(tuple(Static(k) for k, _ in table.entries))


@handles(LENGTHS, FunctionTable)
def _length(f: Frame, table: FunctionTable) -> Value:
    return Static(len(table.entries))
