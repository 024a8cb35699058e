"""Memory for the tensors that results hold, and these tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

VIEWS = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
"""Where PyTorch makes a slice a view that autograd knows of. What is cut off in other ways is none, but has a dimension."""


class Results:
    """`types` are the manifest's descriptions of the types of result tensors (`outside.Leaving`), `device` is where they
    lie."""

    def __init__(self, types: Sequence[Mapping[str, Any]], device: str) -> None:
        self._types = [
            (tuple(t["shape"]), getattr(torch, t["dtype"]), "cpu" if t["number"] else device, t["lists"], t["order"])
            for t in types
        ]

    def allocate(self, index: int, counts: int | list[int]) -> tuple[int, tuple[torch.Tensor, ...]]:
        """Memory for results of one type, and the tensors in it: their number is given, or of tensors whose extents vary how
        many parts each of them has.

        They are cut off one buffer, which is the cheapest way to a tensor (250 to 280 ns; 370 as a view that autograd knows
        of), and unlike views of it each has a version of its own: writing to one is no change of another.
        """
        shape, dtype, device, _, _ = self._types[index]
        if isinstance(counts, list):
            buffer = torch.empty((sum(counts), *shape), dtype=dtype, device=device)
            return buffer.data_ptr(), torch.unsafe_split_with_sizes(buffer, counts)
        if not shape:
            buffer = torch.empty(counts, dtype=dtype, device=device)
            with torch._C._ExcludeDispatchKeyGuard(VIEWS):
                return buffer.data_ptr(), buffer.unbind(0)
        rows, *rest = shape
        buffer = torch.empty((counts * rows, *rest), dtype=dtype, device=device)
        return buffer.data_ptr(), torch.unsafe_split_with_sizes(buffer, [rows] * counts)

    def arrange(self, index: int, parts: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
        """The tensor that these parts, one after the other, make up; `sizes` are the extents that vary, outermost list
        first."""
        shape, _, _, _, order = self._types[index]
        where = sorted(range(len(order)), key=order.__getitem__)
        return parts.view((*sizes, *shape)).permute(where).contiguous()
