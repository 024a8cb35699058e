"""Moving elements, running sums and products. A tensor is taken apart along one dimension, and the parts are stacked again."""

import operator

import torch

from backends.acrobat.library.indexing import index_select
from backends.acrobat.library.iteration import accumulated
from backends.acrobat.library.words import in_order, is_counts, is_fixed, of_extent, refuse, unrolled


def roll(input, shifts, dims=None):
    if isinstance(dims, (tuple, list)):
        for shift, dim in unrolled(zip(shifts, dims)):
            input = roll(input, shift, dim)
        return input
    if dims is None:
        return roll(input, shifts, 0) if input.dim() == 1 else roll(input.flatten(), shifts, 0).view(input.shape)
    if not is_fixed(shifts):
        extent = input.size(dims)
        return index_select(input, dims, torch.tensor([(i - shifts) % extent for i in range(extent)]))
    parts = input.unbind(dims)
    at = -shifts % max(len(parts), 1)
    return torch.stack(parts[at:] + parts[:at], dims)


def ints_so_far(step, input, dim):
    """The running totals of a tensor of ints along `dim`, whose extent varies unless it is the only one."""
    alone = True
    for d in unrolled(range(input.dim())):
        if d != dim and d != dim + input.dim() and not (is_fixed(input.size(d)) and input.size(d) == 1):
            alone = False
    if alone:
        return torch.tensor(accumulated(step, input.flatten().tolist())).view(input.shape)
    if input.dim() > 2:
        refuse("the running totals of ints of more than two dimensions", "take each part by itself")
    if dim in (0, -2):
        return ints_so_far(step, input.t(), 1).t()
    return torch.stack([torch.tensor(accumulated(step, row.tolist())) for row in input])


def cumsum(input, dim):
    if input.dtype == torch.int64 and (input.dim() == 1 or not is_fixed(input.size(dim))):  # the program has the ints
        return ints_so_far(operator.add, input, dim)
    total = torch.zeros_like(input.sum(dim))
    parts = []
    for part in input.unbind(dim):
        total = total + part
        parts.append(total)
    return torch.stack(parts, dim)


def cumprod(input, dim):
    if input.dtype == torch.int64 and (input.dim() == 1 or not is_fixed(input.size(dim))):  # the program has the ints
        return ints_so_far(operator.mul, input, dim)
    total = torch.ones_like(input.sum(dim))
    parts = []
    for part in input.unbind(dim):
        total = total * part
        parts.append(total)
    return torch.stack(parts, dim)


def prod(input, dim=None, keepdim=False):
    if input.dtype == torch.int64 and (dim is None or input.dim() == 1):
        whole = 1
        for i in input.flatten().tolist():
            whole = whole * i
        return torch.tensor([whole]) if keepdim else torch.tensor(whole)
    if dim is None:
        input, dim = input.flatten(), 0
    total = torch.ones_like(input.sum(dim, keepdim))
    for part in input.split(1, dim) if keepdim else input.unbind(dim):
        total = total * part
    return total


def repeat_interleave(input, repeats=None, dim=None, output_size=None):
    """`torch.repeat_interleave`: `repeats` is one number for all parts, or a tensor of ints, one for each part. Without it
    `input` is that tensor, and the parts are their indices."""
    if repeats is None:
        return repeat_interleave(torch.arange(len(input)), input)
    if dim is None:
        input, dim = input.flatten(), 0
    if is_counts(repeats):
        return index_select(input, dim, torch.tensor(repeated_places(input.size(dim), repeats.tolist())))
    if is_fixed(input.size(dim)) and is_fixed(repeats):  # so that the number of parts stays known
        places = unrolled(range(input.size(dim) * repeats))
        return torch.stack([input.select(dim, i // repeats) for i in places], dim)
    return torch.stack([part for part in input.unbind(dim) for _ in range(int(repeats))], dim)


def repeated_places(extent, counts):
    """The indices of the parts of a tensor, each as often as `counts` says; one count alone is that of all parts."""
    if len(counts) == 1:
        counts = [counts[0] for _ in range(extent)]
    if len(counts) != extent:
        raise RuntimeError(f"{extent} parts are repeated by {len(counts)} numbers")
    for count in counts:
        if count < 0:
            raise RuntimeError(f"a part is repeated {count} times")
    return [i for i, count in enumerate(counts) for _ in range(count)]


def sort(input, dim=-1, descending=False, stable=False):
    if input.dim() != 1:
        if dim != -1 and dim != input.dim() - 1:
            values, places = sort(input.transpose(dim, -1), -1, descending)
            return values.transpose(dim, -1), places.transpose(dim, -1)
        if input.dtype == torch.int64 and is_fixed(input.size(0)):  # so that the number of rows stays known
            rows = [sort(input[i], -1, descending) for i in unrolled(range(input.size(0)))]
        else:
            rows = [sort(row, -1, descending) for row in input]
        if input.dim() == 2:  # so that there are as many columns as before, also without rows
            n = input.size(-1)
            rows = [(of_extent(values, n), of_extent(places, n)) for values, places in rows]
        return torch.stack([values for values, _ in rows]), torch.stack([places for _, places in rows])
    numbers = input.tolist()
    places = in_order(numbers, descending)
    return torch.tensor([numbers[i] for i in places]), torch.tensor(places)


def argsort(input, dim=-1, descending=False, stable=False):
    return sort(input, dim, descending)[1]


def view_as(input, other):
    return input.reshape(other.shape)


def tile(input, dims, *more):
    return input.repeat(dims, *more)


def unflatten(input, dim, sizes):
    at = dim + input.dim() if dim < 0 else dim
    return input.reshape((*input.shape[:at], *sizes, *input.shape[at + 1 :]))


def swapaxes(input, axis0, axis1):
    return input.transpose(axis0, axis1)


def ravel(input):
    return input.flatten()


def hstack(tensors):
    return torch.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


def vstack(tensors):
    return torch.cat([t.unsqueeze(0) if t.dim() == 1 else t for t in unrolled(tensors)], 0)


def argmin(input, dim=None, keepdim=False):
    return torch.argmax(-input, dim, keepdim)


def rows_joined(rows, count, size):
    """Each `size` rows one after another as one; there are then `count` of them, or as many as there are for None."""
    groups = len(rows) // size if count is None else count
    if groups * size != len(rows):
        raise RuntimeError(f"{len(rows)} rows are viewed as {groups} of {size} each")
    return [torch.cat([rows[size * i + k] for k in unrolled(range(size))]) for i in range(groups)]


def some_rows_joined(rows, count, size):
    """`rows_joined` of at least one row: of none PyTorch does not tell an extent that is -1."""
    if count == 0:
        raise RuntimeError(f"cannot reshape a tensor of {len(rows)} rows into shape [0, -1]")
    return rows_joined(rows, count, size)


def rows_grouped(rows, count, size):
    """The rows in `count` groups of `size`; where one of the two is None, as many as there are."""
    if size is None:
        if count <= 0 or len(rows) % count != 0:
            raise RuntimeError(f"shape [{count}, -1] is invalid for {len(rows)} rows")
        size = len(rows) // count
    elif count is None:
        if size <= 0 or len(rows) % size != 0:
            raise RuntimeError(f"shape [-1, {size}] is invalid for {len(rows)} rows")
        count = len(rows) // size
    if count < 0 or count * size != len(rows):
        raise RuntimeError(f"shape [{count}, {size}] is invalid for {len(rows)} rows")
    return [rows[i * size : (i + 1) * size] for i in range(count)]


def rows_parted(rows, count, parts):
    """Each row as `parts` rows; there are then `count` of them, or as many as there are for None."""
    if count is not None and count != parts * len(rows):
        raise RuntimeError(f"{len(rows)} rows are viewed as {count}, each being {parts} of these")
    return [part for row in rows for part in row.chunk(parts)]


def in_groups(rows, size):
    """The rows in groups of this size, of which the last may be smaller; of no rows one empty group, as in PyTorch."""
    if size < 1:
        raise RuntimeError(f"a tensor is split in parts of {size}")
    return [rows[at : at + size] for at in range(0, max(len(rows), 1), size)]


def in_chunks(rows, chunks):
    """The rows in so many groups at most, all of one size but for the last; of no rows so many empty groups."""
    if chunks < 1:
        raise RuntimeError(f"a tensor is taken apart in {chunks} chunks")
    if len(rows) == 0:
        return [rows for _ in range(chunks)]
    return in_groups(rows, (len(rows) + chunks - 1) // chunks)


def in_sizes(rows, sizes):
    """The rows in groups of these sizes, which take all rows."""
    groups = []
    at = 0
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"a tensor is split in parts, one of {size}")
        groups.append(rows[at : at + size])
        at += size
    if at != len(rows):
        raise RuntimeError(f"a tensor of {len(rows)} parts is split in {at}")
    return groups


def in_sections(rows, count):
    """The rows in so many groups, of which the first ones have one more where they are not of one size."""
    if count < 1:
        raise RuntimeError(f"a tensor is split in {count} sections")
    least, longer = len(rows) // count, len(rows) % count
    return [rows[i * least + min(i, longer) : (i + 1) * least + min(i + 1, longer)] for i in range(count)]


def between(rows, indices):
    """The rows in groups that begin at the first one and at these indices, of which a negative one counts from the end."""
    ends = [max(i + len(rows), 0) if i < 0 else i for i in indices]
    return [rows[a:b] for a, b in zip([0] + ends, ends + [len(rows)])]


def rows_padded(rows, filler, before, after):
    """The rows with so many times `filler` before and behind them; negative numbers remove rows."""
    first, end = max(-before, 0), len(rows) + min(after, 0)
    if first > end:
        raise RuntimeError(f"a tensor of {len(rows)} parts is padded by {before} and {after}")
    return [filler for _ in range(before)] + rows[first:end] + [filler for _ in range(after)]
