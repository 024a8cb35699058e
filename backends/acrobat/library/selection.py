"""Selection of elements by their values, for which the instance waits."""

import torch

from backends.acrobat.library.words import has_dimensions, highest, in_order, is_fixed, of_extent, refuse


def topk(input, k, dim=-1, largest=True, sorted=True):
    if not largest:
        values, places = topk(-input, k, dim, True, sorted)
        return -values, places
    if k == 1 and input.dim() != 1 and is_fixed(input.size(dim)):
        return input.amax(dim, True), input.argmax(dim, True)
    if input.dim() != 1:
        if dim != -1 and dim != input.dim() - 1:
            values, places = topk(input.transpose(dim, -1), k, -1, True, sorted)
            return values.transpose(dim, -1), places.transpose(dim, -1)
        rows = [topk(row, k, -1, True, sorted) for row in input]
        if input.dim() > 2:  # the rows are matrices, whose own rows have that extent
            return torch.stack([v for v, _ in rows]), torch.stack([places for _, places in rows])
        return torch.stack([of_extent(v, k) for v, _ in rows]), torch.stack([of_extent(places, k) for _, places in rows])
    numbers = input.tolist()
    places = highest(numbers, k)
    return torch.tensor([numbers[i] for i in places]), torch.tensor(places)


def bucketize(input, boundaries, out_int32=False, right=False):
    """How many of the sorted `boundaries` are below each element, or with `right` not above it; NaN is above all."""
    if boundaries.dim() != 1:
        refuse("`bucketize` with boundaries of several dimensions", "give it a row of them")
    beyond = ~(input.unsqueeze(-1) < boundaries) if right else ~(input.unsqueeze(-1) <= boundaries)
    return beyond.sum(-1)


def searchsorted(sorted_sequence, input, out_int32=False, right=False, side=None):
    if not has_dimensions(input):
        return torch.tensor(int(searchsorted(sorted_sequence, torch.tensor([input]), out_int32, right, side)[0]))
    return bucketize(input, sorted_sequence, out_int32, right if side is None else side == "right")


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements of a tensor of one dimension, of equal ones in a row the first. The instance waits for them."""
    if input.dim() != 1 or return_inverse:
        refuse("`unique_consecutive` of several dimensions, or with `return_inverse`", "take each row by itself")
    numbers = input.tolist()
    starts = [i for i in range(len(numbers)) if i == 0 or numbers[i] != numbers[i - 1]]
    values = torch.tensor([numbers[i] for i in starts])
    if return_counts:
        return values, torch.tensor([stop - start for start, stop in zip(starts, starts[1:] + [len(numbers)])])
    return values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The elements of a tensor in ascending order, each once. The instance waits for them."""
    if dim is not None:
        refuse("`unique` with a dimension", "leave `dim` out")
    numbers = input.flatten().tolist()
    ordered = [numbers[i] for i in in_order(numbers, False)]
    distinct = [ordered[i] for i in range(len(ordered)) if i == 0 or ordered[i] != ordered[i - 1]]
    result = torch.tensor(distinct)
    if not return_inverse and not return_counts:
        return result
    places = torch.tensor([distinct.index(number) for number in numbers]) if return_inverse else None
    counts = torch.tensor([numbers.count(number) for number in distinct]) if return_counts else None
    if return_inverse and return_counts:
        return result, places.view(input.shape), counts
    return (result, places.view(input.shape)) if return_inverse else (result, counts)


def highest_places(rows):
    """For each column of rows of numbers, of which there is one at least, the index of the row with the highest; NaN is the
    highest, and of equal ones the first counts."""
    return [highest([row[j] for row in rows], 1)[0] for j in range(len(rows[0]))]


def selected(items, flags):
    """The items whose flag is 1; a flag is 0.0 or 1.0."""
    return [item for item, flag in zip(items, flags) if flag > 0.5]


def places(flags):
    """The indices of the flags that are 1; a flag is 0.0 or 1.0."""
    return [i for i, flag in enumerate(flags) if flag > 0.5]


def places_of_rows(rows):
    """For each flag that is 1 the index of its row; a flag is 0.0 or 1.0."""
    return [i for i in range(len(rows)) for flag in rows[i] if flag > 0.5]


def places_in_rows(rows):
    """For each flag that is 1 its index in its row; a flag is 0.0 or 1.0."""
    return [j for row in rows for j in range(len(row)) if row[j] > 0.5]


def places_of_matrices(matrices):
    """For each flag that is 1 the index of its matrix; a flag is 0.0 or 1.0."""
    return [k for k in range(len(matrices)) for row in matrices[k] for flag in row if flag > 0.5]


def rows_in_matrices(matrices):
    """For each flag that is 1 the index of its row in its matrix; a flag is 0.0 or 1.0."""
    return [i for rows in matrices for i in range(len(rows)) for flag in rows[i] if flag > 0.5]


def columns_in_matrices(matrices):
    """For each flag that is 1 its index in its row; a flag is 0.0 or 1.0."""
    return [j for rows in matrices for row in rows for j in range(len(row)) if row[j] > 0.5]


def replaced(items, places, others):
    """The items with the i-th of `others` in the place that the i-th of `places` names; of equal places the last counts."""
    if len(others) != len(places):
        raise IndexError(f"{len(others)} parts are assigned to {len(places)} places")
    for i in range(len(places)):
        at = places[i] + len(items) if places[i] < 0 else places[i]
        if at < 0 or at >= len(items):
            raise IndexError(f"index {places[i]} is out of range for {len(items)} parts")
        items = items[:at] + [others[i]] + items[at + 1 :]
    return items


def replaced_in_rows(rows, firsts, seconds, others):
    """A list of lists with each of `others` in the list that its first index names, at its second one; the last one counts."""
    if len(others) != len(firsts) or len(others) != len(seconds):
        raise IndexError(f"{len(others)} parts are assigned to places with {len(firsts)} and {len(seconds)} indices")
    for i in range(len(firsts)):
        rows = replaced(rows, [firsts[i]], [replaced(rows[firsts[i]], [seconds[i]], [others[i]])])
    return rows
