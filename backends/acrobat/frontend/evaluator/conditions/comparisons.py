"""Comparisons of two values: `==`, `<`, `is` and the others, of all kinds of values. `membership.py` has `in`, and chains."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, LIST, DataT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import among, choose, fail, negation, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.each_type import for_each_type, is_one_of_several
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, NUMBERS, by_type, is_tree, word_of
from backends.acrobat.frontend.evaluator.choices.mixed_order import SIGNS, has_order, of_several_in_order
from backends.acrobat.frontend.evaluator.choices.never import among_operands
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.conditions.identity import is_same
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists import lengths, lists
from backends.acrobat.frontend.evaluator.objects.fields import identity
from backends.acrobat.frontend.evaluator.tables import COMPARED, COMPARED_AS_WHOLES, COMPARED_SETS, EQUALITY
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import (
    as_kind,
    is_array,
    is_held_tensor,
    is_list,
    is_number,
    is_object,
    is_string,
    is_unknown,
    kind,
    known,
    nothing_known,
    plain_container,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import NEVER, SYMBOL, contains_unknown, is_never_filled, is_tuple_type, word_of_type
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, is_empty, unknown
from backends.acrobat.library import comparing, strings

COMPARISONS: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}


def comparison(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """The value of the comparison `a op b` by any operator but `in`; a problem is noted for values that cannot be compared."""
    a, b = plain_container(a), plain_container(b)
    if (never := never_compared(f, a, b)) is not None:
        return never
    a, b = _numbered(f, a, b), _numbered(f, b, a)
    are_members = any(isinstance(known(x)[1], Enum) for x in (a, b))  # those of an IntEnum are ints in the program
    if isinstance(op, (ast.Is, ast.IsNot)) and (
        are_members or OneOf in (type(a), type(b)) or SYMBOL in (type_or_none(a), type_or_none(b))
    ):
        op = ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()
    if a == Static(None) and isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        a, b = b, a
    if isinstance(op, (ast.Is, ast.IsNot)) or b == Static(None) and isinstance(op, (ast.Eq, ast.NotEq)):
        return is_same(f, node, a, b, negate=isinstance(op, (ast.IsNot, ast.NotEq)))
    by_cases = _by_cases(f, node, op, a, b)
    if by_cases is None and type(op) in SIGNS:
        by_cases = of_several_in_order(f, node, op, a, b, lambda one, other: comparison(f, node, op, one, other))
    return _of_values(f, node, op, a, b) if by_cases is None else by_cases


def _numbered(f: Frame, value: Value, other: Value) -> Value:
    """A constant object that is compared with another one, which the program has as a number, as a number too; and a constant
    date that is compared with one of the program as one of the program."""
    t = f.without_none(type_or_none(other))
    if isinstance(value, Static) and isinstance(t, DataT) and f.program.datatypes.is_constant(t.name):
        return f.as_object(value)
    if isinstance(value, Static) and type(value.value) in CLASSES and t is not None:
        return f.as_object(value)
    return value


def never_compared(f: Frame, a: Value, b: Value) -> Value | None:
    """The result of comparing values of which one does not exist, since computing it raises an error; None for others."""
    never = among_operands([a, b])
    return None if never is None else f.host("ne", [never, Static(0)], BOOL)  # nobody gets to see it


EQUALITY.append(lambda f, node, a, b: comparison(f, node, ast.Eq(), a, b))


def _by_cases(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value | None:
    """A comparison with a value that is one of several, or may be None, each of its cases compared; None for other values."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, OneOf) and all(isinstance(v, Static) for v in (other, *one.alternatives)):
            pairs = [(v, other) if one is a else (other, v) for v in one.alternatives]
            return among(f, node, one.index, [partial(comparison, f, node, op, *pair) for pair in pairs])
    if not isinstance(op, (ast.Eq, ast.NotEq)):
        return None
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Dyn) and optional(f, one) is not None:  # None is equal to None alone
            return open_optional(
                f,
                node,
                one,
                lambda some, other=other: comparison(f, node, op, some, other),  # type: ignore[misc]
                lambda other=other: comparison(f, node, op, Static(None), other),  # type: ignore[misc]
            )
    compares_these = f.function is comparing.same_tree and (a, b) == (f.env.get("a"), f.env.get("b"))  # by their cases
    if all(isinstance(v, Dyn) and is_tree(f, v.type) for v in (a, b)) and not compares_these:
        same_tree = f.call_with(comparing.same_tree, [a, b], node)
        return negation(f, same_tree) if isinstance(op, ast.NotEq) and not is_unknown(same_tree) else same_tree
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Dyn) and f.mixed(one.type):  # values of other types are not equal to it
            return by_type(f, node, one, lambda _, inner, other=other: _equal(f, node, op, inner, other))  # type: ignore[misc]
    return None


def _of_values(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """A comparison of two values that are there, each of one type."""
    name, python = COMPARISONS[type(op)]
    if is_one_of_several(f, a) or is_one_of_several(f, b):
        return for_each_type(f, node, [a, b], lambda operands: _of_values(f, node, op, *operands))
    a, b = (opened(f, node, v, types=COMPUTED) for v in (a, b))
    if "varying tuple" in (kind(a), kind(b)) and (result := _of_varying_tuples(f, node, name, a, b)) is not None:
        return result
    if is_list(a) or is_list(b):
        a, b = (_written_out(f, node, v) for v in (a, b))
    if any(isinstance(v, TupleV) or isinstance(type_or_none(v), TupleT) or _is_named(f, v) for v in (a, b)):
        a, b = (TupleV(tuple(f.components(v) or ())) if _is_named(f, v) else v for v in (a, b))
    (known_a, x), (known_b, y) = known(a), known(b)
    if known_a and known_b:
        try:
            return Static(python(x, y))
        except TypeError as error:
            return f.problem(node, str(error))
    if name in ("eq", "ne") and any(is_string(x) and (is_array(y) or is_held_tensor(y)) for x, y in ((a, b), (b, a))):
        return Static(name == "ne")  # a string is no tensor
    for whole in () if nothing_known(a) or nothing_known(b) else COMPARED_AS_WHOLES:
        mask = whole(f, op, a, b)
        if mask is not None:
            return mask
    rule = COMPARED.get(kind(a)) or COMPARED.get(kind(b))
    if rule is not None:
        a, b = rule(f, a, b)
    if kind(a) == kind(b) and kind(a) in COMPARED_SETS:
        of_kind = COMPARED_SETS[kind(a)](f, node, name, a, b)
        if of_kind is not None:
            return of_kind
    if is_list(a) and is_list(b) and not nothing_known(a) and not nothing_known(b):
        return _same_lists(f, node, name, a, b) if name in ("eq", "ne") else _lists_in_order(f, node, name, a, b)
    if is_unknown(a) or is_unknown(b):
        return unknown()
    return _of_types(f, node, op, a, b)


def _written_out(f: Frame, node: ast.AST, value: Value) -> Value:
    """A list that is a constant of the source as a list of the program; other values unchanged."""
    if not isinstance(value, Static) or not isinstance(value.value, list):
        return value
    return lists.list_of(f, node, [_written_out(f, node, f.program.wrap(v)) for v in value.value])


def _is_named(f: Frame, value: Value) -> bool:
    """Whether a value is a named tuple, which is compared as a tuple."""
    return is_object(value) and f.components(value) is not None


def _of_types(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """A comparison of numbers, tuples, objects or strings, whose types are known."""
    name = COMPARISONS[type(op)][0]
    left, right = type_of(a), type_of(b)
    if is_number(a) and is_number(b):
        return f.host(name, [a, b], BOOL)
    if isinstance(left, TupleT) and isinstance(right, TupleT):
        compare = _same_tuples if name in ("eq", "ne") else _tuples_in_order
        return compare(f, node, op, f.components(a) or [], f.components(b) or [])
    if name in ("eq", "ne") and left == right:
        if isinstance(left, DataT) and _by_identity(f, left):
            return f.host(name, [identity(f, node, a), identity(f, node, b)], BOOL)
        if left == SYMBOL:
            return f.host(name, [a, b], BOOL)
    if left == right == SYMBOL:
        one, other = (a, b) if name in ("lt", "ge") else (b, a)
        before = f.call_with(strings.before, [one, other], node)
        return before if name in ("lt", "gt") or is_unknown(before) else negation(f, before)
    if name in ("eq", "ne") and _are_never_equal(word_of_type(left), word_of_type(right)):
        return Static(name == "ne")
    what = f"{describe(left)} and {describe(right)} cannot be compared"
    if left == right and isinstance(left, DataT) and name in ("eq", "ne"):
        f.program.datatypes.met.note_changed_elsewhere(left.name)
        what += ": objects that the model makes are not told apart by identity"
        return f.problem(node, what, "give the class an `__eq__`, or compare one of its fields, or indices")
    return f.problem(node, what)


def _equal(f: Frame, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> Value:
    """`a == b` or `a != b`, where `a` is a mixed value of a certain type: values of different types are not equal."""
    if isinstance(b, Dyn) and f.mixed(b.type):
        return comparison(f, node, op, a, b)
    if are_of_other_types(a, b):
        return Static(isinstance(op, ast.NotEq))
    return comparison(f, node, op, a, b)


def are_of_other_types(a: Value, b: Value) -> bool:
    """Whether two values are surely not equal, because they are of different types; an int and a float may be."""
    one, other = word_of(a), word_of(b)
    return bool(one) and bool(other) and one != other and not {one, other} <= {*COMPUTED}


def _by_identity(f: Frame, t: DataT) -> bool:
    """Whether objects of a type are equal only to themselves, as those of a class without `__eq__` are."""
    classes = f.program.datatypes.cases.get(t.name, ())
    numbered = f.program.datatypes.is_referenced(t.name) or f.program.datatypes.is_constant(t.name)
    return bool(classes) and all(
        (numbered and not issubclass(c, RecordOf) or c in f.program.datatypes.seen)
        and "__eq__" not in {x for k in c.__mro__[:-1] for x in vars(k)}
        for c in classes
    )


def _same_lists(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """`==` and `!=` of lists, element by element."""
    t = f.common([type_of(a), type_of(b)])
    if is_never_filled(t):
        return Static(name == "eq")
    if contains_unknown(t):  # an element type is unknown: at least one of the lists is empty
        some = next((v for v in (a, b) if not is_unknown(v)), None)
        if some is None:
            return Static(name == "eq")
        t = type_of(some)
    for one, other in ((a, b), (b, a)):
        if is_empty(one) or is_never_filled(type_of(one)):  # no elements are compared, which need not have `==`, as tensors
            f.coerce(one, t)
            return f.host(name, [lengths.length(f, f.coerce(other, t)), Static(0)], BOOL)
    same = f.call_with(comparing.same, [f.coerce(a, t), f.coerce(b, t)], node)
    return same if name == "eq" or is_unknown(same) else negation(f, same)


def _of_varying_tuples(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """A comparison in which a tuple is whose length varies; None where the other value is no tuple and no list."""
    types = [type_or_none(v) for v in (a, b)]
    if name in ("eq", "ne") and "list" in map(word_of_type, types):  # a list is no tuple
        return Static(name == "ne")
    if not all(map(is_tuple_type, types)):
        return None
    t = f.common(types)
    if contains_unknown(t):
        return unknown()
    sides = [as_kind(f.coerce(v, t), LIST) for v in (a, b)]
    return (_same_lists if name in ("eq", "ne") else _lists_in_order)(f, node, name, *sides)


def _are_never_equal(*words: str) -> bool:
    """Whether values of two of Python's types, by their words, are different whatever they are. (A tuple and a list are, too,
    but a tuple of the program may be a list in Python.)"""
    one, other = ("number" if word in NUMBERS else word for word in words)
    return one != other and {one, other} != {"tuple", "list"} and {one, other} <= {"number", "str", "tuple", "list", "dict"}


def _same_tuples(f: Frame, node: ast.AST, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """`==` and `!=` of tuples, component by component."""
    result: Value = Static(len(a) == len(b))
    for x, y in zip(a, b, strict=False):
        same = comparison(f, node, ast.Eq(), x, y)
        if not is_unknown(same) and type_or_none(same) != BOOL:  # of tensors, whose truth Python would ask for
            return f.problem(
                node, "tensors inside of tuples or objects are not compared", "write `bool((a == b).all())` for them"
            )
        result = choose(f, node, result, lambda same=same: same, lambda: Static(False))  # type: ignore[misc]
    return result if isinstance(op, ast.Eq) or is_unknown(result) else negation(f, result)


def _lists_in_order(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value:
    """`<`, `<=`, `>` and `>=` of lists."""
    t = f.common([type_of(a), type_of(b)])
    if contains_unknown(t):
        return unknown()
    if not has_order(f, t):
        return f.problem(node, f"{describe(type_of(a))} and {describe(type_of(b))} cannot be compared")
    if is_never_filled(t):
        return Static(name in ("le", "ge"))
    sides = [f.coerce(v, t) for v in ((a, b) if name in ("lt", "le") else (b, a))]
    work = comparing.before if name in ("lt", "gt") else comparing.not_after
    return f.call_with(work, sides, node)


def _tuples_in_order(f: Frame, node: ast.AST, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """`<`, `<=`, `>` and `>=` of tuples: the first components that differ decide. As in Python, it is an error of the instance
    if the numbers before a component without an order are all equal."""
    if not a or not b:
        return Static(COMPARISONS[type(op)][1](len(a), len(b)))
    if not all(x == NEVER or has_order(f, x) for x in map(type_or_none, (a[0], b[0]))):
        return fail(
            f, "TypeError: the tuples that are compared agree in all that comes before their components without an order"
        )
    strict = ast.Lt() if isinstance(op, (ast.Lt, ast.LtE)) else ast.Gt()
    same = comparison(f, node, ast.Eq(), a[0], b[0])
    return choose(
        f, node, same, lambda: _tuples_in_order(f, node, op, a[1:], b[1:]), lambda: comparison(f, node, strict, a[0], b[0])
    )
