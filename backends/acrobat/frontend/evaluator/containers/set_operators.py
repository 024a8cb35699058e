"""Operators, comparisons and methods that take sets, or dictionaries, as wholes."""

from __future__ import annotations

import ast
from dataclasses import replace

from backends.acrobat.core.types import COUNTER, DICT, SET
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose, negation
from backends.acrobat.frontend.evaluator.containers.containers import as_set, items_of, kind_of, of_kind
from backends.acrobat.frontend.evaluator.containers.counters import OPERATORS, combined, is_counter
from backends.acrobat.frontend.evaluator.containers.records import as_dict
from backends.acrobat.frontend.evaluator.containers.walked_sets import is_view, note_difference
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.tables import BINARY, COMPARED_SETS, SET_OPERANDS, handles
from backends.acrobat.frontend.kinds import (
    as_kind,
    is_list,
    is_unknown,
    known,
    nothing_known,
    plain_container,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.types import contains_unknown, is_never_filled
from backends.acrobat.frontend.values import Static, TupleV, Value, is_empty, unknown
from backends.acrobat.library import dictionaries, sets

SET_METHODS = {
    "union": "bitor",
    "intersection": "bitand",
    "difference": "sub",
    "symmetric_difference": "bitxor",
    "issubset": "le",
    "issuperset": "ge",
}


def of_sets(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """The result of an operator on two sets, by its name ("bitor", "le", ...); None for an operator that sets do not have."""
    functions = {
        "bitor": sets.union,
        "bitand": sets.common,
        "sub": sets.lacking,
        "bitxor": sets.in_one,
        "le": sets.within_set,
    }
    if name in ("ge", "gt"):
        return of_sets(f, node, {"ge": "le", "gt": "lt"}[name], b, a)
    if is_unknown(a) or is_unknown(b) or name not in functions:
        return unknown() if name in functions else None
    result = f.program.call(f, node, functions[name], [items_of(a), items_of(b)], {})
    return result if name == "le" else of_kind(result, SET)


def _operand(f: Frame, written: ast.AST, value: Value) -> Value:
    match written:
        case ast.Call(ast.Attribute(attr="keys" | "items"), [], []) if is_list(value):  # which no operator takes as lists
            return of_kind(value, SET)
        case ast.Call(ast.Attribute(attr="keys" | "items"), [], []) if isinstance(known(value)[1], list):
            value = Static(frozenset(known(value)[1]))  # of a dictionary that is known at compile time
        case ast.Call(ast.Attribute(attr="keys"), [], []) if isinstance(value, TupleV) and all(
            known(x)[0] for x in value.items
        ):
            value = Static(frozenset(known(x)[1] for x in value.items))  # of modules
    return as_set(f, written, value)


SET_OPERANDS.append(_operand)


@handles(BINARY, "set", "dict")
def _binary(f: Frame, node: ast.AST, op: ast.operator, name: str, a: Value, b: Value) -> Value:
    if kind_of(a) == kind_of(b) == "set":
        result = of_sets(f, node, name, a, b)
        if result is not None:
            new = name == "sub" and isinstance(node, ast.BinOp) and not is_view(node.right)
            return note_difference(f, result, a, b) if new else result
    if name in OPERATORS and all(map(is_counter, (a, b))):
        return combined(f, node, OPERATORS[name], a, b)
    if kind_of(a) == kind_of(b) == "dict" and name == "bitor":
        return merged(f, node, a, b)
    if name == "bitor" and (records := [c for x in (a, b) for c in records_of(f, x)]):
        return as_dict(f, *records)
    raise Refused(f"this operator does not take {describe(type_or_none(a))} and {describe(type_or_none(b))}")


def merged(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The dictionary `a | b`: for keys in both the entry of `b` counts."""
    if nothing_known(a) or nothing_known(b):
        return unknown()
    a, b = plain_container(a), plain_container(b)
    t = f.common([type_of(a), type_of(b)])
    if contains_unknown(t):
        return b if is_empty(a) else a
    pairs = [items_of(f.coerce(x, t)) for x in (a, b)]
    return of_kind(f.program.call(f, node, dictionaries.merged, pairs, {}), t.kind)


@handles(COMPARED_SETS, "dict")
def _same_dicts(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """`==` and `!=` of dictionaries, in which the order of the entries does not count."""
    if name not in ("eq", "ne") or COUNTER in (type_of(a).kind, type_of(b).kind):
        return None  # a Counter is equal to one that has zeros for its missing keys
    t = f.common([replace(type_of(x), kind=DICT) for x in (a, b)])
    if contains_unknown(t):
        return unknown()
    if is_never_filled(t):
        return Static(name == "eq")
    same = f.program.call(f, node, dictionaries.same, [items_of(f.coerce(as_kind(x, DICT), t)) for x in (a, b)], {})
    return same if name == "eq" or is_unknown(same) else negation(f, same)


@handles(COMPARED_SETS, "set")
def _compared(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """`<=`, `>=`, `==` and `!=` of sets."""
    if name in ("eq", "ne"):
        if is_unknown(a) or is_unknown(b):
            return unknown()
        both = [of_sets(f, node, "le", x, y) for x, y in ((a, b), (b, a))]
        same = choose(f, ast.Pass(), both[0], lambda: both[1], lambda: Static(False))  # type: ignore[arg-type, return-value]
        return same if name == "eq" else negation(f, same)
    return of_sets(f, node, name, a, b)
