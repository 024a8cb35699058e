"""Buffers of ints as tensors of ints that the program has, which are written out in it, and as tensors of floats, which are
weights of it."""

from __future__ import annotations

from typing import Any

import torch

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import retyped
from backends.acrobat.frontend.tensor_types import ints_of_shape
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value
from backends.acrobat.ir import nodes as n

LONGEST = 64
"""The most ints of a buffer that are written out one by one where it is an index."""
LARGEST = 4096
"""The most ints of a buffer of several dimensions that are written out."""


def is_buffer_of_ints(value: Any) -> bool:
    """Whether a value is a buffer of ints, or a part of one, that may be a tensor of ints of the program."""
    return isinstance(value, HostTensor) and value.tensor.dtype == torch.int64


def written_out(f: Frame, value: HostTensor) -> Value:
    """A buffer of ints as a tensor of ints of the program. Raises Refused."""
    t = value.tensor
    if not t.ndim:
        return Held("index", value.read())
    if sum(e != 1 for e in t.shape) > 1 and t.numel() > LARGEST:
        what = f"`{value.name}` has {t.numel()} ints, and one of several dimensions is used with {LARGEST} at most"
        raise Refused(what, "take a part of it first, as in `x[0]`, or make it float32")
    return _list_of(f, t)


def _list_of(f: Frame, t: torch.Tensor) -> Dyn:
    """A tensor of ints with dimensions as a list of the program, or as one of such lists."""
    type = ints_of_shape(tuple(t.shape))
    if isinstance(type.item, ListT):
        return f.bind(n.ListOf(tuple(_list_of(f, row).atom for row in t), type, span=f.span), "numbers")
    places = t.reshape(-1).tolist()
    step = places[1] - places[0] if len(places) > 1 else 0
    if step and places == list(range(places[0], places[-1] + (1 if step > 0 else -1), step)):
        ends = [Static(places[0]), Static(places[-1] + (1 if step > 0 else -1)), Static(step)]
        return retyped(f.host("range", ends, ListT(INT)), type)
    return f.bind(n.ListOf(tuple(n.Lit(x, INT, span=f.span) for x in places), type, span=f.span), "numbers")


def as_index(f: Frame, value: Any) -> Any:
    """A buffer of ints with dimensions as an index: of a few ints in one dimension each of these, else a tensor of ints. Other
    values as they are. Raises Refused."""
    if not isinstance(value, HostTensor) or not value.tensor.ndim or value.tensor.dtype not in (torch.int64, torch.int32):
        return value
    if value.tensor.ndim == 1 and 0 < value.tensor.numel() <= LONGEST:
        return Held("ids", TupleV(tuple(map(Static, value.tensor.tolist()))))
    return written_out(f, value)
