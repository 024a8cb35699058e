"""Parts of a tensor that ints in another tensor name: they are taken out, put in, added or reduced."""

import torch
from torch.nn import functional

from backends.acrobat.library.words import has_dimensions, is_fixed, refuse, unrolled


def index_select(input, dim, index):
    if dim == 0:
        return input[index]
    parts = input.unbind(dim)
    return torch.stack([parts[i] for i in index], dim)


def within(index, extent):
    """The ints of a tensor of them; raises IndexError if one is no index of this extent, as also a negative one is not here."""
    for i in index:
        if i < 0 or i >= extent:
            raise IndexError(f"index {i} is out of bounds for an extent of {extent}")
    return index


def index_add(input, dim, index, source, alpha=1):
    """The input with `alpha` times each part of `source` added to the part that `index` names for it."""
    if input.dtype == torch.int64:
        return added_ints(input, index.tolist(), source.tolist(), alpha)
    if dim != 0:
        return index_add(input.transpose(0, dim), 0, index, source.transpose(0, dim), alpha).transpose(0, dim)
    if index.numel() != source.size(0):
        raise IndexError(f"`index_add` of {source.size(0)} parts takes an index of as many ints, not {index.numel()}")
    index = within(index, input.size(0))
    total = []
    for at in range(input.size(0)):
        more = [part for i, part in zip(index, source) if i == at]
        total.append(sum([alpha * part for part in more], input[at]))
    return torch.stack(total)


def added_ints(input, places, numbers, alpha):
    """The ints of `input` with `alpha` times each of `numbers` added where `places` says."""
    if input.dim() != 1:
        refuse("adding ints in several dimensions", "write `.float()` before it, or x[i, j] += ... for each")
    if len(places) != len(numbers):
        raise IndexError(f"{len(numbers)} ints are added in {len(places)} places")
    totals = input.tolist()
    for i, number in zip(within(places, len(totals)), numbers):
        totals[i] = totals[i] + alpha * number
    return of_ints(totals, input.size(0))


def of_ints(numbers, extent):
    """A tensor of ints of an extent that stays known."""
    if is_fixed(extent):
        return torch.tensor([numbers[i] for i in unrolled(range(extent))])
    return torch.tensor(numbers)


def scatter_add(input, dim, index, src):
    return scatter_reduce(input, dim, index, src, "sum")


def scatter_reduce(input, dim, index, src, reduce, include_self=True):
    """`torch.scatter_reduce` of tensors of up to three dimensions. Parts whose index is one int for the whole row, as where an
    index of shape (n, 1) was expanded, are moved as wholes."""
    if input.dtype == torch.int64 and reduce == "sum" and include_self:
        return added_ints(input, index.tolist(), src.tolist(), 1)
    if reduce == "sum" and include_self and is_fixed(input.size(-1)):
        if input.dim() == 1:
            return added_at(input, index, src)
        if dim in (1, -1) and is_fixed(input.size(0)) and input.size(0) == 1:
            return added_at(input[0], index[0], src[0]).unsqueeze(0)
    if input.dim() == 1:
        return reduced_parts(input, index, src, reduce, include_self)
    if input.dim() > 3:
        refuse(f"`scatter` of a tensor of {input.dim()} dimensions", "flatten the last ones")
    if input.dim() == 3:
        return reduced_along(input, dim, index, src, reduce, include_self)
    if dim in (1, -1):
        return scatter_reduce(input.t(), 0, index.t(), src.t(), reduce, include_self).t()
    if index.size(1) != input.size(1) or index.size(1) != src.size(1):
        raise ValueError("an index with fewer columns than the tensor is not in the language")
    if one_int_each(index):
        return reduced_parts(input, index[:, 0], src, reduce, include_self)
    columns = [reduced_parts(x, i, s, reduce, include_self) for x, i, s in zip(input.t(), index.t(), src.t())]
    return torch.stack([columns[j] for j in unrolled(range(input.size(1)))], 1)


def reduced_along(input, dim, index, src, reduce, include_self):
    """As `scatter_reduce`, of tensors of three dimensions."""
    if dim not in (0, -3):
        turned = input.transpose(0, dim), index.transpose(0, dim), src.transpose(0, dim)
        return reduced_along(turned[0], 0, turned[1], turned[2], reduce, include_self).transpose(0, dim)
    if index.size(1) != input.size(1) or index.size(1) != src.size(1):
        raise ValueError("an index with smaller parts than the tensor is not in the language")
    if (
        index.size(2) == input.size(2)
        and index.size(2) == src.size(2)
        and all(one_int_each([i[0]]) and one_int_each(i.t()) for i in index)
    ):
        return reduced_parts(input, index[:, 0, 0], src, reduce, include_self)
    if is_fixed(input.size(1)):
        parts = unrolled(range(input.size(1)))
        return torch.stack([scatter_reduce(input[:, j], 0, index[:, j], src[:, j], reduce, include_self) for j in parts], 1)
    turned = zip(input.transpose(0, 1), index.transpose(0, 1), src.transpose(0, 1))
    return torch.stack([scatter_reduce(x, 0, i, s, reduce, include_self) for x, i, s in turned], 1)


def added_at(input, index, src):
    """A vector of fixed length, as the probabilities of words, with each number of `src` added where `index` says."""
    for i, part in zip(within(index, input.size(0)), src):
        input = input + part * functional.one_hot(torch.tensor(i), input.size(0)).float()
    return input


def one_int_each(rows):
    """Whether each row of a matrix of ints has the same int everywhere."""
    same = True
    for row in rows:
        for i in row:
            if i != row[0]:
                same = False
    return same


def reduced_parts(input, index, src, reduce, include_self):
    """The parts of `input`, each reduced with those parts of `src` for which `index` names it."""
    index = within(index, input.size(0))
    parts = []
    for at in range(input.size(0)):
        more = [part for i, part in zip(index, src) if i == at]
        parts.append(reduced(input[at], more, reduce, include_self) if more else input[at])
    return torch.stack(parts)


def reduced(own, more, reduce, include_self):
    """The sum, mean, product, maximum or minimum of the tensors in `more`, and of `own` if `include_self` is set."""
    if reduce in ("sum", "mean"):
        total = sum(more, own) if include_self else sum(more)
        return total / (len(more) + int(include_self)) if reduce == "mean" else total
    if reduce not in ("amax", "amin", "prod"):
        refuse(f"`scatter_reduce` by {reduce}")
    whole = torch.stack(more)
    if reduce == "prod":
        return whole.prod(0) * own if include_self else whole.prod(0)
    if reduce == "amax":
        return torch.maximum(whole.amax(0), own) if include_self else whole.amax(0)
    return torch.minimum(whole.amin(0), own) if include_self else whole.amin(0)


def bincount(input, weights=None, minlength=0):
    ids = input.tolist()
    count = minlength
    for i in ids:
        if i < 0:
            raise ValueError("`bincount` counts ints from 0 on")
        count = max(count, i + 1)
    if weights is not None:
        return torch.zeros(count).index_add(0, input, weights)
    return torch.tensor([ids.count(at) for at in range(count)])


def scatter(input, dim, index, src=None, value=None):
    """`torch.scatter` in up to three dimensions; where `index` names a place several times, the last element stays."""
    if input.dim() > 3:
        refuse("`scatter` of a tensor of more than three dimensions", "write x[i] = ... for each part")
    if input.dim() == 3:
        moved = torch.ones(index.size(0), index.size(1), index.size(2)) * (value if src is None else src)
        if dim in (0, -3):
            return scatter(input.transpose(0, 1), 1, index.transpose(0, 1), moved.transpose(0, 1)).transpose(0, 1)
        if index.size(0) != input.size(0):
            raise ValueError("an index of `scatter` with fewer parts than the tensor is not in the language")
        along = dim - 1 if dim > 0 else dim
        return torch.stack([scatter(x, along, i, part) for x, i, part in zip(input, index, moved)])
    if input.dtype == torch.bool and input.dim() == 1 and not has_dimensions(value if src is None else src):
        filled = input.clone()
        filled[index] = value if src is None else src
        return filled
    if input.dim() == 1 and input.dtype == torch.int64:
        return put_ints(input, index.tolist(), value if src is None else src)
    if input.dim() == 1:
        return put_at(input, index, torch.ones(len(index)) * (value if src is None else src))
    if input.dtype == torch.int64:
        refuse("`scatter` of ints in several dimensions", "write x[i, j] = ... for each")
    moved = torch.ones(index.size(0), index.size(1)) * (value if src is None else src)
    if dim in (0, -2):
        return put_in_rows(input.t(), index.t(), moved.t()).t()
    return put_in_rows(input, index, moved)


def put_ints(input, places, src):
    """The ints of `input` with those of a tensor `src`, or one number, in these places."""
    numbers = input.tolist()
    values = src.tolist() if has_dimensions(src) else [int(src) for _ in places]
    for i, number in zip(within(places, len(numbers)), values):
        numbers[i] = number
    return of_ints(numbers, input.size(0))


def put_in_rows(input, index, src):
    """Each row of `input` with the elements of that row of `src` where the ints in that row of `index` say."""
    if is_fixed(input.size(0)) and is_fixed(index.size(0)):  # rows without an index stay
        rows = [put_at(input[i], index[i], src[i]) for i in unrolled(range(index.size(0)))]
        return torch.stack(rows + [input[i] for i in unrolled(range(index.size(0), input.size(0)))])
    if index.size(0) != input.size(0):
        raise ValueError("an index of `scatter` with fewer rows than the tensor, or columns, is not in the language")
    if is_fixed(input.size(0)):  # so that the extent stays known
        return torch.stack([put_at(input[i], index[i], src[i]) for i in unrolled(range(input.size(0)))])
    return torch.stack([put_at(row, places, parts) for row, places, parts in zip(input, index, src)])


def put_at(input, index, src):
    parts = list(input.unbind(0))
    for i, part in zip(within(index.tolist(), input.size(0)), src):
        parts[i] = part
    if is_fixed(input.size(0)):  # so that its extent stays known where there are no rows
        return torch.stack([parts[i] for i in unrolled(range(input.size(0)))])
    return torch.stack(parts)


def gather(input, dim, index):
    """`torch.gather` in up to three dimensions. Parts whose index is one int for the whole row, as where an index of shape
    (n, 1) was expanded, are moved as wholes."""
    if input.dim() == 1:
        return index_select(input, 0, index)
    if input.dim() > 3:
        refuse("`gather` of a tensor of more than three dimensions", "write x[i] for each part")
    if input.dim() == 3:
        if dim in (0, -3):
            return gather(input.transpose(0, 1), 1, index.transpose(0, 1)).transpose(0, 1)
        if index.size(0) > input.size(0):
            raise RuntimeError(f"an index of `gather` has {index.size(0)} parts, the tensor {input.size(0)}")
        return torch.stack([gather(part, dim - 1 if dim > 0 else dim, places) for part, places in zip(input, index)])
    if dim in (0, -2):
        alike = is_fixed(input.size(1)) and is_fixed(index.size(1)) and index.size(1) == input.size(1)
        if alike and input.dtype != torch.int64 and one_int_each(index):
            return input[within(index[:, 0], input.size(0))]
        return gather(input.t(), 1, index.t()).t()
    if is_fixed(input.size(0)) and is_fixed(index.size(0)):  # so that the extent stays known
        return torch.stack([index_select(input[i], 0, index[i]) for i in unrolled(range(index.size(0)))])
    return torch.stack([index_select(row, 0, places) for row, places in zip(input, index)])


def index_fill(input, dim, index, value):
    if dim == 0 or dim == -input.dim():
        filled = input.clone()
        filled[index] = value
        return filled
    parts = list(input.unbind(dim))
    for i in index:
        parts[i] = torch.full_like(parts[i], value)
    return torch.stack(parts, dim)
