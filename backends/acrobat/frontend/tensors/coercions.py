"""Where a value of another type is wanted: numbers become tensors filled with them, dense tensors ragged ones."""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import FLOAT, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.tables import COERCIONS
from backends.acrobat.frontend.tensors.lifting import ADDS_NOTHING, as_rows, of_rows, op
from backends.acrobat.frontend.values import Value, known


def _as_ragged(f: Frame, value: Value, have: Any, wanted: Any) -> Value | None:
    """Coercion of a dense tensor to a ragged one that has the same fixed extents; None where `wanted` is not ragged."""
    if isinstance(wanted, ListT) and wanted.rows is not None and isinstance(have, TensorT):
        return f.coerce(of_rows(as_rows(f, value, wanted.rows), wanted.rows), wanted)
    return None


def _as_tensor(f: Frame, value: Value, have: Any, wanted: Any) -> Value | None:
    """Coercion of a number to a tensor filled with it; None where it does not apply."""
    if not isinstance(wanted, TensorT) or have not in (INT, FLOAT):
        return None
    filled = op(f, "full", [], {"shape": wanted.shape, "value": ADDS_NOTHING}, "number")
    is_known, number = known(value)
    if is_known:
        return op(f, "full", [], {"shape": wanted.shape, "value": float(number)}, "number")
    return op(f, "add", [filled, value], hint="number")


COERCIONS += [_as_ragged, _as_tensor]
