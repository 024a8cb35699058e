"""Asking a tensor for its extents."""

from __future__ import annotations

import math
from typing import Any

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.mapping import fold, mapped
from backends.acrobat.frontend.tensors.lifting import as_rows, axis, dim_of, extent_of, shape, shape_of
from backends.acrobat.frontend.tensors.operations import operation, ragged
from backends.acrobat.frontend.values import Static, TupleV, Value


@operation("size")
def _size(f: Frame, call: CallArguments) -> Value:
    x, dim = call.bind("input", "dim", dim=None)
    shape = shape_of(x)
    return Static(tuple(shape)) if dim is None else Static(shape[dim_of(dim, len(shape), "size")])


@ragged("size")
def _size_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim = c.bind("input", "dim", dim=None)
    rank = len(shape(v))
    if dim is not None:
        return extent_of(f, v, dim_of(dim, rank, c.name))
    return TupleV(tuple(extent_of(f, v, d) for d in range(rank)))


@operation("numel", "nelement")
def _numel(f: Frame, call: CallArguments) -> Value:
    return Static(math.prod(shape_of(call.args[0])))  # type: ignore[arg-type]


@ragged("numel", "nelement")
def _numel_ragged(f: Frame, c: CallArguments) -> Value | None:
    return _elements(f, c.args[0])


def _elements(f: Frame, x: Any) -> Value:
    """How many elements a ragged tensor has."""
    others = [e for d, e in enumerate(shape(x)) if d != axis(x)]
    if None in others:
        counts = mapped(f, [as_rows(f, x, axis(x))], lambda row: _elements(f, row))
        return fold(f, counts, Static(0), lambda a, b: f.host("add", [a, b], INT))
    each = math.prod(e or 0 for e in others)
    return length(f, x) if each == 1 else f.host("mul", [length(f, x), Static(each)], INT)


@operation("dim", "ndimension")
def _dim(f: Frame, call: CallArguments) -> Value:
    return Static(len(shape_of(call.args[0])))  # type: ignore[arg-type]


@ragged("dim", "ndimension")
def _dim_ragged(f: Frame, c: CallArguments) -> Value | None:
    return Static(len(shape(c.args[0])))
