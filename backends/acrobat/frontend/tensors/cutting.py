"""Tensors of fixed shape with other values between constant bounds: they are cut there, and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from backends.acrobat.core.types import TensorT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_ragged, is_tensor, is_unknown, known
from backends.acrobat.frontend.tensors.dtypes import as_floats
from backends.acrobat.frontend.tensors.fixing import with_extents
from backends.acrobat.frontend.tensors.lifting import ADDS_NOTHING, is_numbers, op, select, shape, shape_of
from backends.acrobat.frontend.tensors.masks import is_mask, ones_and_zeros
from backends.acrobat.frontend.values import Dyn, Static, Value


@dataclass(frozen=True)
class Bounds:
    """A slice among indices; None for a bound that is left out."""

    start: Value | None
    stop: Value | None
    step: int

    @property
    def all(self) -> bool:
        return self.start is None and self.stop is None and self.step == 1


Index: TypeAlias = Any
"""A `Bounds`, an int, a mask, or a list of ints."""


def filled_to(f: Frame, extents: tuple[int, ...], value: Value) -> Dyn:
    """A tensor of this shape for `value`, which is broadcast. As in torch it may have dimensions of extent 1 in front."""
    filled: Any = value if is_tensor(value) or is_ragged(value) else f.coerce(value, TensorT(()))
    if is_ragged(filled):
        floats = as_floats(f, filled) if is_numbers(filled) else filled
        filled = with_extents(f, floats, extents[-len(shape(filled)) :], "as the part that is assigned to has it")
        if is_ragged(filled):
            raise Refused("a tensor whose extent varies cannot be put into one of fixed shape")
    while len(shape(filled)) > len(extents) and shape(filled)[0] == 1:
        filled = select(f, filled, 0, Static(0))
    made = op(f, "add", [op(f, "full", [], {"shape": extents, "value": ADDS_NOTHING}), filled])
    if not is_unknown(made) and shape(made) != extents:
        raise Refused(f"a tensor of shape {shape(value)} does not fit into the place of shape {extents}")
    return made


def cut_and_joined(f: Frame, x: Any, indices: Sequence[Index], value: Any) -> Value:
    regions = [_indexed_places(i, e) for i, e in zip(indices, shape_of(x), strict=False)]
    rest = shape_of(x)[len(regions) :]
    extents = [len(t) for t, i in zip(regions, indices, strict=True) if isinstance(i, Bounds)]
    new = filled_to(f, (*extents, *rest), ones_and_zeros(f, value) if is_mask(value) else value)
    if is_unknown(new) or not all(map(len, regions)):
        return new if is_unknown(new) else x
    return _with_region(f, x, 0, regions, op(f, "reshape", [new], {"shape": (*map(len, regions), *rest)}))


def _indexed_places(i: Index, extent: int) -> range:
    """The places along a dimension of this extent that a constant index names."""
    if isinstance(i, Bounds):
        start, stop = (None if b is None else known(b)[1] for b in (i.start, i.stop))
        return range(extent)[start : stop : i.step]
    if not -extent <= known(i)[1] < extent:
        raise Refused(f"index {known(i)[1]} is out of range for an extent of {extent}")
    return range(extent)[known(i)[1] % extent :][:1]


def _with_region(f: Frame, x: Dyn, dim: int, regions: Sequence[range], new: Dyn) -> Dyn:
    """The tensor `x` with `new` where the places `regions`, one or more along each dimension from `dim` on, cross."""
    if not regions:
        return new
    places, extent = regions[0], shape_of(x)[dim]
    start, stop, step = places[0], places[-1] + 1, places.step

    def cut(t: Dyn, first: int, last: int, d: int = dim) -> list[Dyn]:
        return [op(f, "slice", [t], {"dim": d, "start": first, "stop": last})] if last > first else []

    if step == 1 or len(places) == 1:
        (region,) = cut(x, start, stop)
        changed = [_with_region(f, region, dim + 1, regions[1:], new)]
    else:  # groups of `step` parts, of which the first is changed, and a last one of a single part
        full = stop - 1 - start
        front, behind = shape_of(x)[:dim], shape_of(x)[dim + 1 :]
        groups = op(f, "reshape", cut(x, start, stop - 1), {"shape": (*front, full // step, step, *behind)})
        firsts = op(f, "reshape", cut(groups, 0, 1, dim + 1), {"shape": (*front, full // step, *behind)})
        region = op(f, "cat", [firsts, *cut(x, stop - 1, stop)], {"dim": dim})
        inner = _with_region(f, region, dim + 1, regions[1:], new)
        (own,) = cut(inner, 0, len(places) - 1)
        own = op(f, "reshape", [own], {"shape": (*front, full // step, 1, *behind)})
        joined = op(f, "cat", [own, *cut(groups, 1, step, dim + 1)], {"dim": dim + 1})
        last = cut(inner, len(places) - 1, len(places))
        changed = [op(f, "reshape", [joined], {"shape": (*front, full, *behind)}), *last]
    parts = [*cut(x, 0, start), *changed, *cut(x, stop, extent)]
    return parts[0] if len(parts) == 1 else op(f, "cat", parts, {"dim": dim})
