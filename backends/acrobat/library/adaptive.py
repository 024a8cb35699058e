"""Pooling to a number of places that is given, over two dimensions or over one, which may vary."""

import torch

from backends.acrobat.library.batches import each
from backends.acrobat.library.images import has_room
from backends.acrobat.library.words import refuse, unrolled

ONE, ONES = (1, (1,)), (1, (1, 1))
"""The ways in which PyTorch writes an output size of 1, and one of 1 x 1."""


def at_places(x, dim, count, reduced):
    """Adaptive pooling along one dimension: what `reduced` makes of the parts that each of `count` places stands for. None
    stands for as many places as there are parts."""
    size = x.size(dim)
    has_room(size, 1)
    if count is None:
        return x
    places = unrolled(range(count))
    return torch.stack(
        [reduced(part_of(x, dim, i * size // count, ((i + 1) * size + count - 1) // count), dim) for i in places], dim
    )


def part_of(x, dim, start, end):
    return x[:, start:end] if dim == 1 else x[:, :, start:end]


def adaptive(input, output_size, reduced):
    """Adaptive pooling of the rows of an image, then of its columns."""
    oh, ow = (output_size, output_size) if isinstance(output_size, int) else output_size
    return each(input, 3, lambda x: at_places(at_places(x, 1, oh, reduced), 2, ow, reduced))


def adaptive_over_time(input, output_size, reduced):
    """Adaptive pooling of a sequence of shape (channels, time), or of a batch of such."""
    count = output_size if output_size is None or isinstance(output_size, int) else output_size[0]
    return each(input, 2, lambda x: at_places(x, 1, count, reduced))


def adaptive_avg_pool2d(input, output_size):
    if output_size in ONES:
        return input.mean(-1, True).mean(-2, True)
    return adaptive(input, output_size, torch.mean)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    if return_indices:
        refuse("adaptive pooling with `return_indices`")
    if output_size in ONES:
        return input.amax(-1, True).amax(-2, True)
    return adaptive(input, output_size, torch.amax)


# ---- over one dimension, which may vary


def adaptive_max_pool1d(input, output_size, return_indices=False):
    if return_indices:
        refuse("adaptive pooling with `return_indices`")
    return input.amax(-1, True) if output_size in ONE else adaptive_over_time(input, output_size, torch.amax)


def adaptive_avg_pool1d(input, output_size):
    return input.mean(-1, True) if output_size in ONE else adaptive_over_time(input, output_size, torch.mean)
