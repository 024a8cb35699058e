"""Where a value of another type is wanted: numbers become tensors filled with them, dense tensors ragged ones."""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import FLOAT, INT, ListT, ScalarT, TensorT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import COERCIONS
from backends.acrobat.frontend.kinds import is_ragged, known
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.tensors.lifting import ADDS_NOTHING, as_rows, is_numbers, of_rows, op, select, shape
from backends.acrobat.frontend.values import Static, Value
from backends.acrobat.ir import nodes as n


def _as_ragged(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion of a dense tensor to a ragged one that has the same fixed extents; None where `type` is none of its rank."""
    if isinstance(type, ListT) and type.rows is not None and isinstance(have, TensorT):
        if len(have.shape) != len(extents(type) or ()):
            return None
        return f.coerce(of_rows(as_rows(f, value, type.rows), type.rows), type)
    return None


def _along_another(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion of a ragged tensor to one whose outermost list is along another dimension, which has a fixed extent in `value`
    or varies there too; None where it does not apply."""
    if not is_ragged(value) or not isinstance(type, ListT) or type.rows in (None, have.rows):
        return None
    if len(shape(value)) <= type.rows or is_numbers(value) or isinstance(type.item, ScalarT):
        return None
    extent = shape(value)[type.rows]
    if extent is None:
        return f.coerce(of_rows(as_rows(f, value, type.rows), type.rows), type)
    parts = [f.atom(f.coerce(select(f, value, type.rows, Static(i)), type.item)) for i in range(extent)]
    return f.bind(n.ListOf(tuple(parts), type, span=f.span), "parts")


def _as_tensor(f: Frame, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion of a number to a tensor filled with it; None where it does not apply."""
    if not isinstance(type, TensorT) or have not in (INT, FLOAT):
        return None
    f.program.datatypes.note_number_as_tensor()
    filled = op(f, "full", [], {"shape": type.shape, "value": ADDS_NOTHING}, "number")
    is_known, number = known(value)
    if is_known:
        result = op(f, "full", [], {"shape": type.shape, "value": float(number)}, "number")
    else:
        result = op(f, "add", [filled, value], hint="number")
    f.program.noted.note_number(f.builder, result)
    return result


COERCIONS += [_as_ragged, _along_another, _as_tensor]
