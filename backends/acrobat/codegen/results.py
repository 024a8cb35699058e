"""Allocates the tensors of results, into which the runtime then copies the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from backends.acrobat.codegen.slices import Maker, cut_unevenly


class Results:
    """`types` are the manifest's descriptions of the types of result tensors (`outside.ResultTensor`), `device` is where they
    lie."""

    def __init__(self, types: Sequence[Mapping[str, Any]], device: str) -> None:
        self._types = [
            (tuple(t["shape"]), getattr(torch, t["dtype"]), "cpu" if t["number"] else device, t["extents"], t["order"])
            for t in types
        ]
        self.makers = [None if lists else Maker(dtype, lies, shape) for shape, dtype, lies, lists, _ in self._types]

    def allocate(self, index: int, counts: int | list[int]) -> tuple[int, Callable[[], tuple[torch.Tensor, ...]]]:
        """Allocates the memory of the tensors of type number `index` and returns its address and a function that makes the
        tensors, which a caller may do while a device computes what they hold. `counts` is how many there are or, where extents
        vary, a list of how many parts each has.

        They are slices of one buffer, the cheapest way to make tensors (`slices.py`)."""
        shape, dtype, device, _, _ = self._types[index]
        if isinstance(counts, list):
            buffer = torch.empty((sum(counts), *shape), dtype=dtype, device=device)
            return buffer.data_ptr(), partial(cut_unevenly, buffer, shape, counts)
        maker = self.makers[index]
        assert maker is not None
        buffer = torch.empty((counts * shape[0], *shape[1:]) if shape else counts, dtype=dtype, device=device)
        return buffer.data_ptr(), partial(maker.cut, buffer, counts)

    def arrange(self, index: int, parts: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
        """Brings concatenated parts into the shape of their tensor; `sizes` are the lengths of the lists, outermost
        first; of a list that stands in an empty one only, 0, unless its type says how long it is."""
        shape, _, _, extents, order = self._types[index]
        if not order:  # one number
            return parts.view(())
        sizes = tuple(size or extent or 0 for size, extent in zip(sizes, extents, strict=True))
        positions = sorted(range(len(order)), key=order.__getitem__)
        return parts.view((*sizes, *shape)).permute(positions).contiguous()

    def clear(self) -> None:
        """Drops tensors that were made ahead of a mini-batch that failed."""
        for maker in self.makers:
            if maker is not None:
                maker.clear()
