"""The dictionary of a parameter `**kwargs`, and operations that it shares with other dictionaries whose keys are known at
compile time."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, LENGTHS, MEMBERSHIP, METHODS, SUBSCRIPTS, TRUTHS, handles
from backends.acrobat.frontend.specials import AttributesByName, FunctionTable, Keywords, Method
from backends.acrobat.frontend.values import Held, Static, TupleV, Value


@handles(ATTRIBUTES, Keywords, FunctionTable)
def _attribute(f: Frame, node: ast.AST, value: Keywords | FunctionTable, name: str) -> Value:
    return Method(value, name)


@handles(SUBSCRIPTS, Keywords, AttributesByName)
def _keyword(f: Frame, node: ast.AST, value: Keywords, index: ast.expr) -> Value:
    key = constant(f.expression(index), "the name of an argument")
    if key not in dict(value.entries):
        return f.problem(node, f"there is no argument `{key}` here")
    result: Value = dict(value.entries)[key]
    return result


@handles(MEMBERSHIP, Keywords, AttributesByName)
def _has_keyword(f: Frame, node: ast.AST, value: Keywords, key: Value) -> Value:
    return Static(constant(key, "the name of an argument") in dict(value.entries))


@handles(LENGTHS, Keywords)
def _length(f: Frame, value: Keywords) -> Value:
    return Static(len(value.entries))


@handles(TRUTHS, Keywords, FunctionTable)
def _not_empty(f: Frame, value: Keywords, node: ast.AST) -> Value:
    return Static(bool(value.entries))


@handles(METHODS, Keywords)
def _keywords_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    entries: dict[str, Value] = dict(method.owner.entries)
    match method.name, args:
        case "get", [key, *default]:
            return entries.get(constant(key, "the name of an argument"), default[0] if default else Static(None))
        case name, []:
            return walked(entries, name)
    return None


def walked(entries: Mapping[Any, Value], name: str) -> Value | None:
    """`d.items()`, `d.keys()` or `d.values()` of a dictionary whose entries are known; None for other methods."""
    match name:
        case "items":
            return Held("iterator", TupleV(tuple(TupleV((Static(k), v)) for k, v in entries.items())))
        case "keys":
            return Held("iterator", TupleV(tuple(map(Static, entries))))
        case "values":
            return Held("iterator", TupleV(tuple(entries.values())))
    return None
