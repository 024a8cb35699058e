"""Masks: tensors of bools, which comparisons of tensors give.

In the program a mask is a tensor of ones and zeros. The front end wraps it as `Held("mask", ...)`, so that it cannot be used as
a tensor of floats by mistake.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT
from backends.acrobat.frontend.evaluator.choices.choice import negation
from backends.acrobat.frontend.evaluator.conditions.comparisons import COMPARISONS
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import item_type
from backends.acrobat.frontend.evaluator.tables import (
    COERCIONS,
    COMPARED,
    COMPARED_AS_WHOLES,
    RESULTS,
    UNARY,
    WHOLE_TENSORS,
    handles,
)
from backends.acrobat.frontend.kinds import is_number, is_ragged, is_tensor, is_unknown, known, type_or_none
from backends.acrobat.frontend.tensors.broadcasting import broadcast_in
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of, of_bools, one_or_zero
from backends.acrobat.frontend.tensors.fixing import only_element, with_columns
from backends.acrobat.frontend.tensors.ints import on_host_in_parts
from backends.acrobat.frontend.tensors.lifting import elementwise, item, op, operand, select, shape, stack_parts
from backends.acrobat.frontend.tensors.values import ReadBool
from backends.acrobat.frontend.types import OF_ONE_BOOL, HeldT
from backends.acrobat.frontend.values import HELD, VARIABLES, Dyn, Held, Static, TupleV, Value
from backends.acrobat.ir import nodes as n

HELD["mask"] = "a tensor of bools serves as a mask; write `.float()` for a tensor of ones and zeros"
VARIABLES.add("mask")


def is_mask(value: Any) -> bool:
    """Whether a value is a tensor of bools that a comparison gave."""
    return isinstance(value, Held) and value.kind == "mask"


def is_one_hot(value: Any) -> bool:
    """Whether a value is what `one_hot` gave (file `one_hot`)."""
    return isinstance(value, Held) and value.kind == "ones"


def mask(value: Value) -> Value:
    """A tensor of ones and zeros as a mask."""
    return value if is_unknown(value) else Held("mask", value)


def plain(value: Any) -> Value:
    """The tensor of ones and zeros inside a mask, or inside of what `one_hot` gave; any other value as it is."""
    inner: Value = value.value if is_mask(value) or is_one_hot(value) else value
    return inner


def ones_and_zeros(f: Frame, value: Value) -> Value:
    """A mask, or a bool of the program, as a tensor of floats. Raises Refused."""
    value = whole_of(f, value)
    if isinstance(value, Held) and is_mask(value):
        return value.value
    if is_ragged(value) and of_bools(value):
        return as_floats(f, value)
    if is_number(value) and type_or_none(value) == BOOL:
        return one_or_zero(f, value)
    raise Refused("a mask is a tensor of bools, which a comparison gives")


# ---- bools that were read of masks


def whole_of(f: Frame, value: Any) -> Any:
    """A bool that was read of a mask as this mask; any other value as it is. Raises Refused."""
    if not isinstance(value, ReadBool):
        return value
    return mask(Dyn(operand(f, one_or_zero(f, value)))) if value.whole is None else value.whole()


def read_of(number: Value, whole: Callable[[], Value] | None = None) -> Value:
    """A bool of the program as one that was read of the mask that `whole` compiles."""
    return ReadBool(number.atom, whole) if isinstance(number, Dyn) and not is_unknown(number) else number


def _of_one_element(f: Frame, compare: ast.cmpop, a: Value, b: Value) -> Value | None:
    """The bool that a comparison gives of which an operand is a tensor of one element, or was read of such; None for others."""
    sides = [Dyn(f.builder.current(v.atom)) if is_tensor(v) else v for v in (a, b)]  # type: ignore[union-attr]
    of_tensors = any(is_tensor(v) or isinstance(v, ReadBool) for v in sides)
    if not of_tensors or type(compare) not in COMPARISONS or not all(is_tensor(v) or is_number(v) for v in sides):
        return None
    numbers = list(COMPARED["tensor"](f, *sides)) if any(map(is_tensor, sides)) else sides
    of_python = [v for v in sides if type_or_none(v) == BOOL and not isinstance(v, ReadBool) and not known(v)[0]]
    if not all(map(is_number, numbers)) or of_python:
        return None

    def whole() -> Value:
        if any(isinstance(v, Dyn) and f.builder.current(v.atom) != v.atom for v in sides):
            raise Refused("a tensor that was compared here has changed since then", "write `.float()` where it is compared")
        made = mask_of(f, compare, *(whole_of(f, v) for v in sides))
        assert made is not None
        return made

    return read_of(f.host(COMPARISONS[type(compare)][0], numbers, BOOL), whole)


# ---- comparisons


def _has_several_elements(value: Value) -> bool:
    """Whether a value is a tensor of more than one element, which is compared element by element."""
    if is_tensor(value):
        return value.type.size != 1  # type: ignore[union-attr]
    if isinstance(value, Held) and value.kind == "ids":  # a tensor of ints written out
        return isinstance(value.value, TupleV) and len(value.value.items) != 1
    return is_mask(value) or is_one_hot(value) or is_ragged(value) and any(e != 1 for e in shape(value))


def compared(f: Frame, compare: ast.cmpop, a: Value, b: Value) -> Value | None:
    """The mask that a comparison of tensors gives, or of tensors of one element each the bool that is read of it; None if no
    operand is a tensor."""
    if _has_several_elements(a) or _has_several_elements(b):
        return mask_of(f, compare, whole_of(f, a), whole_of(f, b))
    return _of_one_element(f, compare, a, b)


def mask_of(f: Frame, compare: ast.cmpop, a: Value, b: Value) -> Value | None:
    """The mask that a comparison of tensors gives, also of one element; None for comparisons that give none."""
    sides = [on_host_in_parts(f, v) if dtype_of(v) == torch.int64 and not is_one_hot(v) else plain(v) for v in (a, b)]
    ints = [v for v in sides if is_ragged(v) and isinstance(item_type(v), ScalarT)]
    if all(v in ints or type_or_none(v) in (INT, BOOL) for v in sides):
        name = COMPARISONS[type(compare)][0]

        def each(v: Any) -> Value:
            return Dyn(operand(f, f.host("float", [f.host("int", [f.host(name, list(v), BOOL)], INT)], FLOAT)))

        return mask(elementwise(f, sides, each, broadcast_in(f, sides)))
    x, y = (as_floats(f, v) if v in ints else v for v in sides)
    match compare:
        case ast.Lt():
            return mask(op(f, "less", [x, finite_or_tensor(f, y)]))
        case ast.LtE():
            return mask(op(f, "less_equal", [x, finite_or_tensor(f, y)]))
        case ast.Gt():
            return mask(op(f, "less", [finite_or_tensor(f, y), x]))
        case ast.GtE():
            return mask(op(f, "less_equal", [finite_or_tensor(f, y), x]))
        case ast.Eq():
            return mask(op(f, "equal", [x, finite_or_tensor(f, y)]))
        case ast.NotEq():
            return negated(f, mask(op(f, "equal", [x, finite_or_tensor(f, y)])))
    return None


COMPARED_AS_WHOLES.append(compared)


def finite_or_tensor(f: Frame, value: Value) -> Value:
    """An operand; infinities and NaN become tensors, since the program's text has no literals for them."""
    is_known, number = known(value)
    if is_known and isinstance(number, bool):
        return Static(float(number))
    if is_known and isinstance(number, float) and not math.isfinite(number):
        return op(f, "full", [], {"shape": (), "value": number}, "number")
    return value


def negated(f: Frame, value: Any) -> Value:
    """The mask that is true where `value` is not."""
    return mask(op(f, "sub", [Static(1.0), value.value]))


def _as_result(f: Frame, value: Any) -> Value | None:
    """A mask that is a result, or in a list that is one, as a tensor of bools, and a tensor of one int as a tensor. For a mask
    the instance waits."""
    if isinstance(value, Held) and value.kind == "index" and not is_unknown(value.value):
        return _without_dimensions(f, value.value, INT)
    if isinstance(value, ReadBool):
        return _without_dimensions(f, value, BOOL)
    if not is_mask(value) or is_unknown(value.value):
        return None
    with_columns(f, value.value)
    bools = bools_of(f, value)
    return bools if shape(value.value) or is_unknown(bools) else _without_dimensions(f, bools, BOOL)


def _without_dimensions(f: Frame, number: Value, type: ScalarT) -> Value:
    """A number of the program as a tensor of it in a result."""
    return f.bind(n.ListOf((f.atom(number),), ListT(type, rows=0, extent=1, units=-1), span=f.span), "number")


def bools_of(f: Frame, value: Any) -> Value:
    """A mask as a tensor of bools that the program has. The instance waits for it."""

    def work(parts: Any) -> Value:
        (part,) = parts
        if shape(part) and not shape(part)[0]:
            t: Any = BOOL
            for extent in reversed(shape(part)):
                t = ListT(t, rows=0, extent=extent)
            return f.bind(n.ListOf((), t, span=f.span), "bools")
        if shape(part):
            return stack_parts(f, [work([select(f, part, 0, Static(i))]) for i in range(shape(part)[0] or 0)], 0)
        return f.host("gt", [item(f, part), Static(0.5)], BOOL)

    return elementwise(f, [value.value], work)


RESULTS.append(_as_result)


def _whole_tensor(f: Frame, value: Value) -> Value | None:
    """A bool that was read of a mask as this mask, where it stands beside tensors or may be a part of the model's result."""
    if not isinstance(value, ReadBool):
        return None
    with suppress(Refused):  # of a tensor that has changed since then
        whole: Value = whole_of(f, value)
        return whole
    return None


WHOLE_TENSORS.append(_whole_tensor)


def _as_read(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion of a mask without dimensions to its bool, for which the instance waits; None where it does not apply."""
    if type != BOOL or have != OF_ONE_BOOL:
        return None
    return read_of(bool_in(f, value), lambda: value)  # type: ignore[arg-type]


COERCIONS.append(_as_read)

# ---- operators


@handles(UNARY, Held)
def _unary(f: Frame, operator: ast.unaryop, a: Held) -> Value | None:
    return negated(f, a) if is_mask(a) and isinstance(operator, ast.Invert) else None


@handles(UNARY, "number")
def _inverted(f: Frame, operator: ast.unaryop, a: Dyn) -> Value | None:
    if not isinstance(a, ReadBool) or not isinstance(operator, ast.Invert):
        return None
    return read_of(negation(f, a), lambda: negated(f, whole_of(f, a)))


def both(f: Frame, name: str, a: Value, b: Value) -> Value:
    """`a & b`, `a | b`, `a ^ b` of masks."""
    x, y = ones_and_zeros(f, a), ones_and_zeros(f, b)
    if name == "bitxor":
        return negated(f, mask(op(f, "equal", [x, y])))
    return mask(op(f, {"bitand": "minimum", "bitor": "maximum"}[name], [x, y]))


def as_mask(f: Frame, value: Any) -> Any:
    """A tensor of bools of the instance, or one that the model made, or one of bytes, as a mask; any other value as it is."""
    if isinstance(value, Held) and value.kind == "bytes":
        return mask(value.value)
    return mask(as_floats(f, value)) if of_bools(value) else value


def bool_in(f: Frame, x: Held) -> Value:
    """The bool in a mask of one element, for which the instance waits. Raises Refused."""
    element: Any = only_element(f, x.value)
    return element if is_unknown(element) else f.host("bool", [item(f, element, "value")], BOOL)


def _bools_as_mask(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion of a tensor of bools that the host has to a mask; None where it does not apply."""
    if not isinstance(type, HeldT) or type.kind != "mask" or not of_bools(value):
        return None
    return mask(f.coerce(as_floats(f, value), type.inner))


COERCIONS.append(_bools_as_mask)
