"""Expressions of comparison: chains such as `a < b < c`, and `a in b`."""

from __future__ import annotations

import ast
from functools import partial

from backends.acrobat.core.types import DataT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import among, choose, negation
from backends.acrobat.frontend.evaluator.choices.mixed import ITERABLE
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.conditions.comparisons import COMPARISONS, comparison, never_compared
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects import constants
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, MEMBERSHIP, SET_OPERANDS, handles
from backends.acrobat.frontend.kinds import is_iterator, is_list, is_unknown, kind, known, type_of, type_or_none, untupled
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import SYMBOL, is_never_filled
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown
from backends.acrobat.library import searching, strings


@handles(EXPRESSIONS, ast.Compare)
def _compare(f: Frame, node: ast.Compare, hint: str) -> Value:
    return _chain(f, node, node.left, f.borrowed(node.left), list(zip(node.ops, node.comparators, strict=True)))


def _chain(f: Frame, node: ast.AST, left_node: ast.expr, left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> Value:
    """The comparison `left < a < b`: `b` is computed only where `left < a`."""
    (op, right_node), *others = rest
    right = f.borrowed(right_node)
    if _are_list_and_tuple(left_node, left, right_node, right) and type(op) in COMPARISONS:
        return f.problem(node, "a list of elements of several types is not compared with a tuple", "write a tuple")
    if type(op) in COMPARISONS and not (isinstance(left, Static) and isinstance(right, Static)):
        for as_operand in SET_OPERANDS:
            left, right = as_operand(f, left_node, left), as_operand(f, right_node, right)
    one = _one(f, node, op, left, right)
    if not others:
        return one
    return choose(f, node, one, lambda: _chain(f, node, right_node, right, others), lambda: Static(False))


def _are_list_and_tuple(left_node: ast.expr, left: Value, right_node: ast.expr, right: Value) -> bool:
    """Whether one of two values is written as a list, which the program has as a tuple, and the other one is a tuple: they
    are not equal in Python, whatever is in them."""
    written = [isinstance(node, ast.List) for node in (left_node, right_node)]
    are_tuples = all(isinstance(v, TupleV) or isinstance(type_or_none(v), TupleT) for v in (left, right))
    return are_tuples and written[0] != written[1]


def _one(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """One comparison of a chain."""
    if not isinstance(op, (ast.In, ast.NotIn)):
        return comparison(f, node, op, a, b)
    if (never := never_compared(f, a, b)) is not None:
        return never
    result = _membership(f, node, a, b)
    return result if isinstance(op, ast.In) or is_unknown(result) else negation(f, result)


def _membership(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """`a in b`, for a container known at compile time, a tuple, a value with a rule for it, or a list of numbers or strings."""
    is_known, x = known(a)
    if isinstance(b, OneOf) and b.of_containers:
        return among(f, node, b.index, [partial(_membership, f, node, a, v) for v in b.alternatives])
    b = opened(f, node, b, "`in` needs a container", ITERABLE)
    match b:
        case Static(dict() | list() | tuple() | str() | set() | frozenset() | range() as whole):
            if is_known:
                return Static(x in whole)
            if is_unknown(a):
                return unknown()
            if isinstance(whole, str):
                return f.call_with(strings.contains, [b, a], node)
            in_order = sorted(whole, key=repr) if isinstance(whole, (set, frozenset)) else whole  # the same in each process
            return constants.contains(f, a, list(in_order))
        case Static(whole) if (method := constants.method_of(whole, "__contains__")) is not None:
            return f.call_with(method, [b, a], node)
    b = untupled(iterable(f, b) if is_iterator(b) else b)
    if kind(b) in MEMBERSHIP:
        return MEMBERSHIP[kind(b)](f, node, b, a)
    if is_never_filled(type_or_none(b)):
        return Static(False)
    if is_unknown(a) or is_unknown(b):
        return unknown()
    items = f.components(b) or f.display(b)
    if items is not None:
        result: Value = Static(False)
        for item in items:
            same = comparison(f, node, ast.Eq(), a, item)
            result = choose(f, node, result, lambda: Static(True), lambda same=same: same)  # type: ignore[misc]
        return result
    if is_list(b) and isinstance(b.type.item, (ScalarT, TupleT, ListT, DataT, type(SYMBOL))):  # type: ignore[union-attr]
        return f.program.call(f, node, searching.contains, [b, a], {})
    return f.problem(node, f"`in` {describe(type_of(b))} is not in the language")
