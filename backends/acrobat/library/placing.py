"""Elements that ints or masks name, taken out of a tensor or put into it, where the tensor counts as one row of elements or the
parts along one dimension are meant."""

import torch

from backends.acrobat.library.indexing import gather, index_add
from backends.acrobat.library.words import is_fixed, refuse, unrolled


def masked_select(input, mask):
    """The elements at which a mask is true, one after another. The instance waits for the mask."""
    if mask.dim() < input.dim() or mask.size(-1) == 1:
        mask = mask.bool().expand_as(input)
    if input.dim() < mask.dim():
        input = input.expand_as(mask)
    return input[mask] if input.dim() == 1 else input.flatten()[mask.flatten()]


def masked_scatter(input, mask, source):
    """The input with the elements of `source`, one after another, where the mask is true. The instance waits for the mask."""
    if mask.dim() < input.dim():
        mask = mask.expand_as(input)
    flags = mask.flatten().float().tolist()
    more = list(source.flatten().unbind(0))
    own = list(input.flatten().unbind(0))
    parts, used = [], 0
    for i in range(len(own)):
        if flags[i] > 0.5:
            if used >= len(more):
                raise RuntimeError(f"masked_scatter: the source has {len(more)} elements only")
            parts.append(more[used])
            used += 1
        else:
            parts.append(own[i])
    return in_shape(parts, 0, input.shape)


def in_shape(parts, at, shape):
    """The tensor of this shape of one-element tensors, from the one with the index `at` on."""
    if len(shape) == 1:
        if is_fixed(shape[0]):
            return torch.stack([parts[at + k] for k in unrolled(range(shape[0]))])
        return torch.stack([parts[at + k] for k in range(shape[0])])
    size = 1
    for extent in unrolled(shape[1:]):
        size = size * extent
    if is_fixed(shape[0]):
        return torch.stack([in_shape(parts, at + k * size, shape[1:]) for k in unrolled(range(shape[0]))])
    return torch.stack([in_shape(parts, at + k * size, shape[1:]) for k in range(shape[0])])


def take(input, index):
    if index.dim() > 1:
        return torch.stack([take(input, row) for row in index])
    return input.flatten()[index]


def put(input, index, source, accumulate=False):
    """The input, as one row of elements, with those of `source` at the places that `index` names."""
    parts = list(input.flatten().unbind(0))
    for i, part in zip(index.flatten().tolist(), source.flatten().unbind(0)):
        at = i + len(parts) if i < 0 else i
        if at < 0 or at >= len(parts):
            raise IndexError(f"index {i} is out of range for {len(parts)} elements")
        parts[at] = parts[at] + part if accumulate else part
    return in_shape(parts, 0, input.shape)


def take_along_dim(input, indices, dim=None):
    """As `gather`, of tensors that have the same extents in all other dimensions."""
    if dim is None:
        return input.flatten()[indices.flatten()]
    at = dim + input.dim() if dim < 0 else dim
    for d in unrolled(range(input.dim())):
        if d != at and is_fixed(input.size(d)) and is_fixed(indices.size(d)) and input.size(d) != indices.size(d):
            refuse("`take_along_dim` of indices that are broadcast", "expand them first")
        if d != at and input.size(d) != indices.size(d):
            raise RuntimeError(f"take_along_dim: extents {input.size(d)} and {indices.size(d)} in dimension {d}")
    return gather(input, at, indices)


def index_copy(input, dim, index, source):
    """The input with the parts of `source` in the places along `dim` that `index` names."""
    if dim == 0 or dim == -input.dim():
        parts = input.clone()
        parts[index] = source
        return parts
    return index_copy(input.transpose(0, dim), 0, index, source.transpose(0, dim)).transpose(0, dim)


def index_put(input, indices, values, accumulate=False):
    """`input[indices] = values` in a new tensor; `accumulate` adds, along the first dimension only."""
    if len(indices) == 1 and accumulate:
        return index_add(input, 0, indices[0], values)
    if accumulate or len(indices) > 2:
        refuse("`index_put` with more than two indices, or with several and `accumulate`", "write x[i, j] = ... or += ...")
    parts = input.clone()
    if len(indices) == 1:
        parts[indices[0]] = values
    else:
        parts[indices[0], indices[1]] = values
    return parts


def select_scatter(input, src, dim, index):
    parts = list(input.unbind(dim))
    parts[index] = src
    return torch.stack(parts, dim)
