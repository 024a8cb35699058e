"""Batches within an instance, such as the crops of an image: each part is worked on by itself, and they join one batch."""

import torch

from backends.acrobat.library.words import is_fixed


def each(input, rank, work):
    """What `work` makes of an input of `rank` dimensions, or of each part of an input with a dimension more in front."""
    if input.dim() == rank:
        return work(input)
    if input.dim() != rank + 1:
        raise RuntimeError(f"a tensor of {rank} or {rank + 1} dimensions is expected here, not one of {input.dim()}")
    if is_fixed(input.size(0)) and input.size(0) == 1:
        return work(input.select(0, 0)).unsqueeze(0)
    return torch.stack([work(part) for part in input.unbind(0)])
