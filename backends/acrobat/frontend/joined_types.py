"""The type that holds the values of two types, where the program has one value in place of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import FLOAT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.tensor_types import (
    LOOSE,
    extents,
    innermost,
    ints_of_shape,
    is_bools,
    is_rows,
    ragged_type,
    shape_of_ints,
)
from backends.acrobat.frontend.types import HeldT, Mismatch, NeverT, UnknownT


def join_types(a: Any, b: Any, numbers: bool = False) -> Any:
    """The type that holds the values of both. With `numbers` set, a number and a float32 tensor have the type of the tensor, as
    in `total = 0` before a loop that adds tensors: the number becomes a tensor filled with it. Two tensors that differ in one
    extent are then one whose extent varies, as the keys that a decoder has cached so far. Raises Mismatch."""
    match a, b:
        case (UnknownT(), t) | (t, UnknownT()) | (NeverT(), t) | (t, NeverT()):
            return t
        case (ListT(rows=int()), TensorT()) | (TensorT(), ListT(rows=int())) if _covers(a, b) or _covers(b, a):
            return a if isinstance(a, ListT) else b
        case (TupleT(x), TupleT(y)) if len(x) == len(y) and a.listed == b.listed:
            return TupleT(tuple(join_types(s, t, numbers) for s, t in zip(x, y, strict=True)), listed=a.listed)
        case ListT(x), ListT(y) if (a.rows, a.kind, a.units) == (b.rows, b.kind, b.units):
            return replace(a, item=join_types(x, y, numbers), extent=a.extent if a.extent == b.extent else None)
        case _ if a != b and (together := _ints_together(a, b)) is not None:
            return together
        case (ScalarT("int" | "float"), TensorT(dtype="float32")) | (TensorT(dtype="float32"), ScalarT("int" | "float")) if (
            numbers
        ):
            return a if isinstance(a, TensorT) else b
        case TensorT(x, "float32"), TensorT(y, "float32") if numbers and (k := _differing(x, y)) is not None:
            return ListT(TensorT((*x[:k], *x[k + 1 :])), rows=k)
        case _ if numbers and a != b and (shape := _shape_of_both(a, b)) is not None:
            return ragged_type(shape)
        case HeldT(), HeldT() if a.kind == b.kind:
            return HeldT(a.kind, join_types(a.inner, b.inner))
        case (HeldT("mask", inner), ListT() as bools) | (ListT() as bools, HeldT("mask", inner)) if is_bools(bools):
            return HeldT("mask", join_types(inner, _as_floats(bools), numbers=True))
        case ScalarT("int"), ScalarT("float"):
            return FLOAT
        case ScalarT("float"), ScalarT("int"):
            return FLOAT
    if a == b and getattr(a, "listed", None) == getattr(b, "listed", None):
        return a
    raise Mismatch(f"{describe(a)} here, {describe(b)} there")


def _shape_of_both(a: Any, b: Any) -> list[int | None] | None:
    """The extents of tensors of floats of which one at least is ragged, as those that differ vary; None for other types, and
    where the ranks differ."""
    shapes = [extents(t) for t in (a, b) if innermost(t) == TensorT(getattr(innermost(t), "shape", ()))]
    if len(shapes) < 2 or None in shapes or len(shapes[0] or ()) != len(shapes[1] or ()) or not (is_rows(a) or is_rows(b)):
        return None
    return [x if x == y else None for x, y in zip(shapes[0] or (), shapes[1] or (), strict=True)]


def _differing(a: tuple[int, ...], b: tuple[int, ...]) -> int | None:
    """The one dimension in which two shapes differ; None where they differ in rank, or in more dimensions."""
    dimensions = [k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    return dimensions[0] if len(a) == len(b) and len(dimensions) == 1 else None


def _as_floats(type: Any) -> Any:
    """The type of the ones and zeros that stand for a tensor of bools in a mask."""
    if isinstance(type.item, ScalarT):
        return ListT(TensorT((1,) * (type.rows + type.units)), type.rows)
    return ListT(_as_floats(type.item), type.rows)


def _covers(ragged: Any, dense: Any) -> bool:
    """Whether a dense float32 type is a special case of that of a ragged tensor of floats: all extents that are fixed in both
    agree."""
    wide, narrow = extents(ragged), extents(dense)
    return (
        isinstance(ragged, ListT)
        and not isinstance(innermost(ragged), ScalarT)
        and isinstance(dense, TensorT)
        and dense.dtype == "float32"
        and wide is not None
        and narrow is not None
        and len(wide) == len(narrow)
        and all(w is None or w == e for w, e in zip(wide, narrow, strict=True))
    )


def _ints_together(a: Any, b: Any) -> Any:
    """The type of tensors of ints that are the one or the other, None where there is none. Of one element each, their ranks may
    differ: a decoder begins with `torch.tensor([[START]])`, and goes on with an int that it has computed."""
    shapes = [shape_of_ints(t) for t in (a, b) if t != LOOSE]
    if None in shapes:
        return None
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):  # type: ignore[arg-type]
        return ints_of_shape(tuple(x if x == y else None for x, y in zip(*shapes, strict=True)))
    return LOOSE if all(e == 1 for shape in shapes for e in shape or ()) else None
