"""Types of tensors: their extents, of which one that varies between instances is None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, RANKS, ListT, ScalarT, TensorKind, TensorT, tensor_word
from backends.acrobat.frontend.types import HeldT


def extents(type: Any) -> tuple[int | None, ...] | None:
    """The extents of a tensor type, with None for one that varies between instances; None for other types."""
    match type:
        case TensorT(shape):
            return shape
        case ListT(ScalarT(), int(), units=-1):
            return ()
        case ListT(item, int() as k):
            inner = (1,) * (k + type.units) if isinstance(item, ScalarT) else extents(item)
            return None if inner is None else (*inner[:k], type.extent, *inner[k:])
    return None


def ragged_type(shape: Sequence[int | None]) -> Any:
    """The type of a tensor with these extents, None for one that varies between instances."""
    if None not in shape:
        return TensorT(tuple(e for e in shape if e is not None))
    k = list(shape).index(None)
    return ListT(ragged_type([*shape[:k], *shape[k + 1 :]]), rows=k)


def is_rows(type: Any) -> bool:
    """Whether a type is that of ragged tensors."""
    return isinstance(type, ListT) and type.rows is not None


def is_bools(type: Any) -> bool:
    """Whether a type is that of tensors of bools that the host has, beside which a mask is another form of the same."""
    return is_rows(type) and innermost(type) == BOOL


def innermost(type: Any) -> Any:
    """The type of what is in a list, and in the lists in it."""
    while isinstance(type, ListT):
        type = type.item
    return type


def shape_of_ints(type: Any) -> tuple[int | None, ...] | None:
    """The extents of a tensor of ints, on the host or computed; an int that is an element of one has none. None for others."""
    match type:
        case HeldT("index") | ScalarT("int"):
            return ()
        case TensorT(shape, "int64"):
            return shape
        case ListT(rows=int()):
            return extents(type) if innermost(type) == ScalarT("int") else None
    return None


def ints_of_shape(shape: tuple[int | None, ...]) -> Any:
    """The type of a tensor of ints, as the host has it: a list of all where one dimension at most is wider than 1."""
    wider = [d for d, e in enumerate(shape) if e != 1] or [len(shape) - 1]
    if not shape:
        return ScalarT("int")
    if len(wider) > 1:
        return ListT(ints_of_shape(shape[1:]), 0, extent=shape[0])
    return ListT(ScalarT("int"), wider[0], extent=shape[wider[0]], units=len(shape) - 1 - wider[0])


LOOSE: Any = HeldT("loose", ScalarT("int"))
"""The type of tensors of one int each whose ranks differ."""


def kind_and_rank(type: Any) -> str:
    """The word in `RANKS` for a type of tensors, on the host or computed; "" for other types."""
    kind: TensorKind = "mask" if isinstance(type, HeldT) and type.kind == "mask" else "tensor"
    inner = type.inner if kind == "mask" else type
    if isinstance(type, ScalarT):
        return ""
    if (shape := shape_of_ints(type)) is not None:
        kind = "ints"
    elif (shape := extents(inner)) is None:
        return ""
    elif innermost(inner) == BOOL:
        kind = "mask"
    word = tensor_word(kind, len(shape))
    return word if word in RANKS else ""
