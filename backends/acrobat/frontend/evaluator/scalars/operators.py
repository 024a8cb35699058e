"""Unary and binary operators on numbers, lists and tuples; the tables BINARY and UNARY have the rules for other values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, LIST, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import mapped_choice
from backends.acrobat.frontend.evaluator.choices.each_type import for_each_type, is_one_of_several
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, mixed
from backends.acrobat.frontend.evaluator.choices.never import among_operands
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.joined_tuples import of_any_length
from backends.acrobat.frontend.evaluator.lists.growing import grown, joined
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.lists.sizes import LONGEST
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, seen_inside
from backends.acrobat.frontend.evaluator.scalars.text_fields import number_of_fields, percent
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import BINARY, EXPRESSIONS, SET_OPERANDS, UNARY, handles
from backends.acrobat.frontend.kinds import (
    as_kind,
    as_tuple,
    is_list,
    is_never,
    is_number,
    is_ragged,
    is_string,
    is_tensor,
    is_unknown,
    kind,
    known,
    nothing_known,
    plain_container,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import contains_unknown, is_tuple_type
from backends.acrobat.frontend.values import Dyn, ListedV, Static, TupleV, Value, guess, is_empty, unknown
from backends.acrobat.library import iteration

OPERATORS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.BitAnd: ("bitand", operator.and_),
    ast.BitOr: ("bitor", operator.or_),
    ast.BitXor: ("bitxor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
}
SIGNS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
SYMBOLS = {"mod": "%", "floordiv": "//", "pow": "**", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>"}


def binary(f: Frame, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
    """The value of `a op b`; a problem is noted for operands that the operator does not take."""
    name, python = OPERATORS[type(op)]
    if is_one_of_several(f, a) or is_one_of_several(f, b):
        return for_each_type(f, node, [a, b], lambda operands: binary(f, node, op, *operands))
    types = ("str",) if isinstance(op, ast.Add) and any(map(is_string, (a, b))) else COMPUTED
    shows = isinstance(op, ast.Mod) and is_string(a)  # a text shows values of all types
    a, b = (v if shows and (v is b or mixed(f, v)) else opened(f, node, v, types=types) for v in (a, b))
    if (never := among_operands([a, b])) is not None:
        return never
    (known_a, x), (known_b, y) = known(a), known(b)
    if known_a and known_b:
        try:
            return Static(python(x, y))
        except ZeroDivisionError:  # as in Python, only if it is computed; lists may also be known to be empty for now only
            a, b, known_a, known_b = f.staged(a), f.staged(b), False, False
        except Exception as error:
            return f.problem(node, str(error))
    if name in ("bitor", "bitand", "bitxor", "sub"):
        written = (node.left, node.right) if isinstance(node, ast.BinOp) else (node, node)
        for as_operand in SET_OPERANDS:
            a, b = as_operand(f, written[0], a), as_operand(f, written[1], b)
    a, b = plain_container(a), plain_container(b)
    if any(isinstance(v, list) and (is_list(other) or is_number(other)) for v, other in ((x, b), (y, a))):
        a, b = f.staged(a), f.staged(b)  # `self.VOCABULARY + unknown`
    if isinstance(op, ast.Mod) and isinstance(x, str):
        return percent(f, node, x, b)
    if isinstance(a, OneOf) and known_b:  # as in `"visit_" + type(node).__name__`
        return mapped_choice(f, node, a, lambda each: binary(f, node, op, each, b))
    if isinstance(b, OneOf) and known_a:
        return mapped_choice(f, node, b, lambda each: binary(f, node, op, a, each))
    a, b = (f.staged(v) if isinstance(v, OneOf) else v for v in (a, b))
    if "varying tuple" in (kind(a), kind(b)):
        return _of_varying_tuples(f, node, name, a, b)
    if any(isinstance(v, TupleV) or isinstance(type_or_none(v), TupleT) for v in (a, b)):
        return _of_tuples(f, node, name, a, b)
    kinds = [kind(a), kind(b), type(a), type(b), *("string" for v in (x, y) if isinstance(v, str))]
    kinds.sort(key=lambda k: k != "object")  # the special methods of a class say what it takes
    rule = next((BINARY[k] for k in kinds if k in BINARY), None)
    if rule is not None:
        if nothing_known(a) or nothing_known(b):
            return unknown()
        return rule(f, node, op, name, a, b)
    if nothing_known(a) or nothing_known(b):
        lists = [v for v in (a, b) if is_list(v)]
        return guess(type_of(lists[0])) if lists and name == "add" else unknown()
    if name == "mul" and (is_list(a) and type_or_none(b) == INT or is_list(b) and type_or_none(a) == INT):
        return _repeated(f, node, *((a, b) if is_list(a) else (b, a)))
    if is_list(a) and is_list(b) and name == "add":
        t = joined(f, a, b)
        if contains_unknown(t):
            return b if is_empty(a) else a
        return f.host("list.concat", [f.coerce(a, t), f.coerce(b, t)], t)
    if is_number(a) and is_number(b) and name != "matmul":
        return of_numbers(f, node, name, a, b)
    return f.problem(node, f"this operator does not take {describe(type_of(a))} and {describe(type_of(b))}")


def of_numbers(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """An operator on two numbers."""
    if name == "pow":
        return _power(f, node, a, b)
    floating = FLOAT in (type_of(a), type_of(b)) or name == "div"
    if floating and name.startswith(("bit", "sh")):
        return f.problem(node, "bit operations need ints")
    result = f.host(name, [as_int(f, v) for v in (a, b)], FLOAT if floating else INT)
    of_bools = name.startswith("bit") and type_of(a) == type_of(b) == BOOL
    return f.host("bool", [result], BOOL) if of_bools else result


def _power(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """`a ** b` of two numbers."""
    known_b, y = known(b)
    floating = FLOAT in (type_of(a), type_of(b))
    if known_b and y == 2:
        return f.host("square", [as_int(f, a)], FLOAT) if floating else binary(f, node, ast.Mult(), a, a)
    if floating:
        return f.host("math.pow", [as_int(f, v) for v in (a, b)], FLOAT)
    if known_b and y < 0:  # a float in Python, also of ints
        return f.host("math.pow", [as_int(f, a), Static(float(y))], FLOAT)
    if known_b and y <= 64:
        return f.call_with(iteration.power, [as_int(f, a), Static(int(y))], node)
    return f.call_with(iteration.power_by_squares, [as_int(f, a), as_int(f, b)], node)


def _of_tuples(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """`+` of two tuples, and `*` of one and a number known at compile time. A list of tensors of several shapes is a tuple
    too; the other one may be a list whose elements are known one by one."""
    if name == "add":
        parts = [f.components(v) if f.components(v) is not None else f.display(v) for v in (a, b)]
        if parts[0] is not None and parts[1] is not None:
            return (ListedV if any(isinstance(v, ListedV) for v in (a, b)) else TupleV)((*parts[0], *parts[1]))
        if is_list(a) and isinstance(b, ListedV):
            return _with_items(f, a, b.items)  # type: ignore[arg-type]
    if name == "mul":
        for whole, times in ((a, b), (b, a)):
            if isinstance(whole, TupleV) and isinstance(known(times)[1], int):
                return replace(whole, items=whole.items * known(times)[1])
            if whole == TupleV(()) and type_or_none(times) == INT:
                return whole
            if is_tuple_type(type_or_none(whole)) and type_or_none(times) == INT:
                return _of_varying_tuples(f, node, name, f.coerce(whole, of_any_length(f, type_of(whole))), times)
    if any(nothing_known(v) for v in (a, b)):
        return unknown()
    return f.problem(node, f"this operator does not take {describe(type_of(a))} and {describe(type_of(b))}")


def _with_items(f: Frame, xs: Dyn, items: Sequence[Value]) -> Value:
    """A list with more elements, of types of which one covers all of them. Raises Mismatch."""
    for item in items:
        if nothing_known(item):
            return unknown()
        t = grown(f, xs, type_of(item))
        if contains_unknown(t):
            return f.not_yet(t)
        xs = f.host("list.append", [f.coerce(xs, t), f.coerce(item, t.item)], t)
    return xs


def _of_varying_tuples(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """`+` of two tuples of which at least one has a varying length, and `*` of such a tuple and an int. Raises Mismatch."""
    if any(map(nothing_known, (a, b))):
        return unknown()
    if name == "mul":
        for whole, times in ((a, b), (b, a)):
            if type_or_none(times) == INT:
                return as_tuple(_repeated(f, node, as_kind(whole, LIST), times))
    types = [type_of(v) for v in (a, b)]
    if name == "add" and all(map(is_tuple_type, types)):
        t = f.common(types)
        if any(map(contains_unknown, types)):  # the elements of the one say nothing about those of the other
            f.program.incomplete = True
            return guess(t)
        return f.host("list.concat", [f.coerce(v, t) for v in (a, b)], t)
    return f.problem(node, f"this operator does not take {describe(types[0])} and {describe(types[1])}")


def _repeated(f: Frame, node: ast.AST, xs: Value, times: Value) -> Value:
    """`xs * times` of a list."""
    items = f.display(xs)
    if is_unknown(xs):
        return xs
    is_known, count = known(times)
    if (
        is_known and items and 0 < count <= LONGEST // len(items) and all(is_tensor(v) or is_ragged(v) for v in items)
    ):  # of which how many counts
        return list_of(f, node, items * count)
    if items is None or len(items) != 1:
        return f.call_with(iteration.repeated, [xs, times], node)
    counts = f.host("range", [Static(0), times, Static(1)], ListT(INT))
    return mapped(f, [counts], lambda _: items[0], "i")


def as_int(f: Frame, v: Value) -> Value:
    """A bool as the int that it is in arithmetic; other values unchanged."""
    if isinstance(v, Static) and isinstance(v.value, bool):
        return Static(int(v.value))
    return f.host("int", [v], INT) if isinstance(v, Dyn) and v.type == BOOL else v


def unary(f: Frame, node: ast.AST, op: ast.unaryop, a: Value) -> Value:
    if is_one_of_several(f, a):
        return for_each_type(f, node, [a], lambda operands: unary(f, node, op, *operands))
    a = opened(f, node, a, types=COMPUTED)
    is_known, x = known(a)
    if is_known:
        try:
            return Static(SIGNS[type(op)](x))
        except TypeError as error:
            return f.problem(node, str(error))
    if is_unknown(a):
        return unknown()
    if is_never(a):
        return a
    rule = UNARY.get(kind(a))
    result = None if rule is None else rule(f, op, a)
    if result is not None:
        return result
    if isinstance(op, (ast.USub, ast.UAdd)) and is_number(a):
        a = as_int(f, a)
        return f.host("neg", [a], type_of(a)) if isinstance(op, ast.USub) else a
    if isinstance(op, ast.Invert) and is_number(a) and type_of(a) in (INT, BOOL):
        return f.host("sub", [Static(-1), as_int(f, a)], INT)
    return f.problem(node, f"this operator does not take {describe(type_of(a))}")


def _with_as_many(f: Frame, node: ast.BinOp, left: Value) -> ast.expr:
    """What stands behind an operator. In `"%s(%d, %d)" % (name, *xs)` the list gives as many values as the text has fields that
    are left."""
    match node:
        case ast.BinOp(op=ast.Mod(), right=ast.Tuple([*before, ast.Starred(rest)]) as several):
            template = known(left)[1]
            if not isinstance(template, str) or any(isinstance(x, ast.Starred) for x in before):
                return node.right
            xs = iterable(f, f.borrowed(rest))
            if not is_list(xs) or is_unknown(xs):
                return node.right
            count = number_of_fields(template) - len(before)
            listed = CompiledNode(f.call_with(iteration.as_many, [xs, Static(count)], node))
            parts = [quoted_expression(rest, "xs[i]", xs=listed, i=ast.Constant(i)) for i in range(count)]
            return ast.copy_location(ast.Tuple([*before, *parts], ast.Load()), several)
    return node.right


@handles(EXPRESSIONS, ast.BinOp)
def _bin_op(f: Frame, node: ast.BinOp, hint: str) -> Value:
    if isinstance(node.op, (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)):
        f.views_as_sets |= {node.left, node.right}
    with f.broadcasting(None):
        left = f.borrowed(node.left)
        right = f.borrowed(_with_as_many(f, node, left))
    value = binary(f, node, node.op, left, right)
    if isinstance(t := type_or_none(value), ListT) and changeable(f, t.item):
        for operand in (node.left, node.right):
            seen_inside(f, operand, t.item)  # the new list has elements of both
    return value
