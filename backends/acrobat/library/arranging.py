"""Tensors put together, taken apart and arranged anew."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.batches import each
from backends.acrobat.library.images import every, has_room
from backends.acrobat.library.moving import sort
from backends.acrobat.library.words import is_fixed, pair, refuse, unrolled


def unfold(input, dimension, size, step):
    """`x.unfold(dim, size, step)`: the windows along a dimension, with a new last dimension for what is in each."""
    at = dimension + input.dim() if dimension < 0 else dimension
    parts = list(input.unbind(at))
    has_room(len(parts), size)
    starts = range(0, len(parts) - size + 1, step)
    return torch.stack([torch.stack([parts[t + j] for j in unrolled(range(size))], -1) for t in starts], at)


def image_windows(input, kernel_size, dilation=1, padding=0, stride=1):
    """`torch.nn.functional.unfold`: each column has the elements of one window of an image."""
    kernel, gap, around, step = pair(kernel_size), pair(dilation), pair(padding), pair(stride)
    return each(input, 3, lambda x: windows_of_image(x, kernel, gap, around, step))


def windows_of_image(x, kernel, gap, around, step):
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel, gap, around, step
    if ph > 0 or pw > 0:
        x = F.pad(x, (pw, pw, ph, ph))
    height, width = x.size(1) - dh * (kh - 1), x.size(2) - dw * (kw - 1)
    parts = []
    for a in unrolled(range(kh)):
        for b in unrolled(range(kw)):
            part = x[:, a * dh : a * dh + height, b * dw : b * dw + width]
            parts.append(every(every(part, 1, sh), 2, sw).flatten(1))
    return torch.stack(parts, 1).flatten(0, 1)


def atleast_1d(input):
    return input.unsqueeze(0) if input.dim() == 0 else input


def atleast_2d(input):
    return atleast_1d(input).unsqueeze(0) if input.dim() < 2 else input


def atleast_3d(input):
    return atleast_2d(input).unsqueeze(-1) if input.dim() < 3 else input


def column_stack(tensors):
    return torch.cat([t.reshape(-1, 1) if t.dim() < 2 else t for t in unrolled(tensors)], 1)


def dstack(tensors):
    return torch.cat([atleast_3d(t) for t in unrolled(tensors)], 2)


def adjoint(input):
    return input.transpose(-2, -1)


def msort(input):
    return sort(input, 0)[0]


def meshgrid(*tensors, indexing="ij"):
    """The grids of two vectors."""
    if len(tensors) == 1:
        return meshgrid(*tensors[0], indexing=indexing)
    if len(tensors) != 2:
        refuse("`meshgrid` but of two vectors")
    a, b = tensors
    if indexing == "xy":
        second, first = meshgrid(b, a)
        return first, second
    if a.dtype == torch.int64 and b.dtype == torch.int64:
        firsts, seconds = a.tolist(), b.tolist()
        return torch.tensor([[i for _ in seconds] for i in firsts]), torch.tensor([list(seconds) for _ in firsts])
    shape = (a.size(0), b.size(0))
    return a.unsqueeze(1).expand(shape), b.unsqueeze(0).expand(shape)


def cartesian_prod(*tensors):
    """The pairs of the elements of two vectors, one in each row."""
    if len(tensors) != 2:
        refuse("`cartesian_prod` but of two vectors")
    a, b = tensors
    firsts = [i for i in range(a.size(0)) for _ in range(b.size(0))]
    seconds = [j for _ in range(a.size(0)) for j in range(b.size(0))]
    return torch.stack([a[firsts], b[seconds]], 1)


def combinations(input, r=2, with_replacement=False):
    """The pairs of elements of a vector, one in each row."""
    if r != 2 or with_replacement:
        refuse("`combinations` but of two elements", "write a loop")
    n = input.size(0)
    firsts = [i for i in range(n) for _ in range(i + 1, n)]
    seconds = [j for i in range(n) for j in range(i + 1, n)]
    return torch.stack([input[firsts], input[seconds]], 1)


def diagonal(input, offset=0, dim1=0, dim2=1):
    """Of a matrix of fixed extents the diagonal; of more dimensions those of its matrices, along the last dimension."""
    if input.dim() != 2 or dim1 not in (0, -2) or dim2 not in (1, -1):
        first = dim1 + input.dim() if dim1 < 0 else dim1
        second = dim2 + input.dim() if dim2 < 0 else dim2
        return diagonal_of_last(input.movedim((first, second), (-2, -1)), offset)
    return diagonal_of_last(input, offset)


def diagonal_of_last(input, offset):
    rows, columns = input.size(-2), input.size(-1)
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    at, to = max(-offset, 0), max(offset, 0)
    if not is_fixed(rows) or not is_fixed(columns):
        if input.dim() != 2:
            refuse("the diagonals of several matrices whose extents vary", "take that of each by itself")
        return input[torch.arange(at, at + count), torch.arange(to, to + count)]
    return torch.stack([input.select(-2, at + i).select(-1, to + i) for i in unrolled(range(count))], -1)


def triangle_from(input, diagonal, upper):
    """`torch.triu` (if `upper`) or `torch.tril` from a diagonal on that is known at run time only."""
    if input.dim() < 2:
        refuse("a triangle is one of a matrix")
    steps = torch.arange(input.size(-1)).unsqueeze(0) - torch.arange(input.size(-2)).unsqueeze(1)
    return torch.where(steps >= diagonal if upper else steps <= diagonal, input, 0.0)


def places_of_triangle(rows, columns, offset, upper):
    """`torch.triu_indices` (if `upper`) or `torch.tril_indices`."""
    pairs = [(i, j) for i in range(rows) for j in range(columns) if (j - i >= offset if upper else j - i <= offset)]
    return torch.tensor([[i for i, _ in pairs], [j for _, j in pairs]])


def trace(input):
    return diagonal(input).sum()


def diag_embed(input, offset=0):
    """Matrices with the last dimension of the input as their diagonal, and zeros elsewhere."""
    n = input.size(-1)
    if offset != 0:
        before, after = max(offset, 0), max(-offset, 0)
        return F.pad(diag_embed(input), (before, after, after, before))
    return torch.where(torch.eye(n, dtype=torch.bool), input.unsqueeze(-1), 0.0)


def diag(input, diagonal=0):
    return diagonal_of_last(input, diagonal) if input.dim() == 2 else diag_embed(input, diagonal)


def fill_diagonal(input, fill_value, wrap=False):
    """A matrix with a number in all places of its diagonal, which `fill_diagonal_` puts there."""
    if input.dim() != 2 or wrap:
        refuse("`fill_diagonal_` but of a matrix, or with `wrap`", "use torch.where")
    return torch.where(torch.eye(input.size(0), input.size(1), dtype=torch.bool), float(fill_value), input)


def diagflat(input, offset=0):
    return diag_embed(input.flatten(), offset)


def pixel_shuffle(input, upscale_factor):
    """Of (..., channels * r * r, height, width) a tensor (..., channels, height * r, width * r)."""
    r = upscale_factor
    channels, height, width = input.size(-3), input.size(-2), input.size(-1)
    x = input.reshape(-1, channels // (r * r), r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(input.shape[:-3] + (channels // (r * r), height * r, width * r))


def pixel_unshuffle(input, downscale_factor):
    r = downscale_factor
    channels, height, width = input.size(-3), input.size(-2), input.size(-1)
    x = input.reshape(-1, channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(input.shape[:-3] + (channels * r * r, height // r, width // r))


def channel_shuffle(input, groups):
    x = input.reshape(input.size(0), groups, input.size(1) // groups, -1).transpose(1, 2)
    return x.reshape(input.shape)
