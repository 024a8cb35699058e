"""The types of an operation's operands: what is wrong with them is a ShapeError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backends.acrobat.core.types import TensorT, Type

Attrs = Mapping[str, Any]
"""The attributes of an operation by name. Dimensions among them are not negative."""


class ShapeError(ValueError):
    """The operands do not fit the operation; the message says what they are."""


def text(types: Sequence[Type]) -> str:
    """Types as an error message shows them."""
    return ", ".join(str(t.shape) if isinstance(t, TensorT) else str(getattr(t, "kind", type(t).__name__)) for t in types)


def tensor(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of operand `i` of `op`. Raises ShapeError if it is no tensor."""
    if i >= len(types) or not isinstance(types[i], TensorT):
        raise ShapeError(f"{op} needs a tensor as operand {i + 1}, got ({text(types)})")
    return types[i]  # type: ignore[return-value]


def floating(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of operand `i` of `op`. Raises ShapeError if it is no float32 tensor: int64 tensors are only moved and read."""
    t = tensor(types, i, op)
    if t.dtype != "float32":
        raise ShapeError(f"{op} needs float32 operands, got {t.dtype} of shape {t.shape}")
    return t


def expect_count(types: Sequence[Type], count: int, op: str) -> None:
    """Raises ShapeError if `op`, which takes `count` operands, has another number of them."""
    if len(types) != count:
        raise ShapeError(f"{op} takes {count} operand{'s' if count > 1 else ''}, got {len(types)}")
