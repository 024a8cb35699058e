"""Counts, order statistics and other summaries of the elements of a tensor. Where the order of elements decides, the instance
waits for them: NaN is the highest."""

import math

import torch

from backends.acrobat.library.functional import norm, variance
from backends.acrobat.library.words import has_dimensions, in_order, less, refuse, same, unrolled


def is_nonzero(input):
    """The mask of the elements that are not zero."""
    if input.dtype == torch.bool:
        return input
    return input != 0 if input.dtype == torch.int64 else ~same(input, 0.0)


def count_nonzero(input, dim=None):
    return is_nonzero(input).sum() if dim is None else is_nonzero(input).sum(dim)


def nansum(input, dim=None, keepdim=False):
    numbers = torch.where(torch.isnan(input), 0.0, input)
    return numbers.sum() if dim is None else numbers.sum(dim, keepdim)


def nanmean(input, dim=None, keepdim=False):
    there = (~torch.isnan(input)).float()
    return nansum(input, dim, keepdim) / (there.sum() if dim is None else there.sum(dim, keepdim))


def var_mean(input, dim=None, unbiased=True, keepdim=False, correction=None):
    if dim is None or isinstance(dim, bool):
        return variance(input, dim, unbiased, keepdim, correction), input.mean()
    return variance(input, dim, unbiased, keepdim, correction), input.mean(dim, keepdim)


def std_mean(input, dim=None, unbiased=True, keepdim=False, correction=None):
    spread, mean = var_mean(input, dim, unbiased, keepdim, correction)
    return torch.sqrt(spread), mean


def aminmax(input, dim=None, keepdim=False):
    if dim is None:
        if keepdim:
            refuse("`aminmax` of all elements with `keepdim`", "reshape the results")
        return input.amin(), input.amax()
    return input.amin(dim, keepdim), input.amax(dim, keepdim)


def by_order(input, dim, keepdim, choose, k):
    """The element of each row along `dim` whose index `choose(numbers, places, k)` gives, and that index. `places` are the
    indices of the row's `numbers` in ascending order."""
    if input.dim() == 0:
        refuse("a choice by order from a tensor without dimensions")
    if input.dim() == 1:
        numbers = input.tolist()
        at = choose(numbers, in_order(numbers, False), k)
        return (torch.tensor([numbers[at]]), torch.tensor([at])) if keepdim else (torch.tensor(numbers[at]), torch.tensor(at))
    last = input.dim() - 1
    d = dim + input.dim() if dim < 0 else dim
    if d != last:
        values, places = by_order(input.transpose(d, last), last, True, choose, k)
        values, places = values.transpose(d, last), places.transpose(d, last)
        return (values, places) if keepdim else (values.squeeze(d), places.squeeze(d))
    rows = [by_order(row, -1, keepdim, choose, k) for row in input]
    return torch.stack([value for value, _ in rows]), torch.stack([place for _, place in rows])


def nth(numbers, places, k):
    if k < 1 or k > len(numbers):
        raise RuntimeError(f"the {k}-th of {len(numbers)} elements")
    return places[k - 1]


def middle(numbers, places, k):
    """The lower one of the two in the middle; NaN where one is."""
    for i in places:
        if numbers[i] != numbers[i]:
            return i
    return places[(len(places) - 1) // 2]


def most_frequent(numbers, places, k):
    """The last index of the lowest one of those elements that occur most often."""
    best, longest, length = places[0], 0, 0
    for i in range(len(places)):
        length = length + 1 if i > 0 and numbers[places[i]] == numbers[places[i - 1]] else 1
        if length > longest:
            best, longest = places[i], length
    return best


def kthvalue(input, k, dim=-1, keepdim=False):
    return by_order(input, dim, keepdim, nth, k)


def mode(input, dim=-1, keepdim=False):
    return by_order(input, dim, keepdim, most_frequent, 0)


def median(input, dim=None, keepdim=False):
    """Of all elements the value alone; along a dimension the value and its index."""
    if dim is None:
        return by_order(input.flatten(), 0, False, middle, 0)[0]
    return by_order(input, dim, keepdim, middle, 0)


def quantile(input, q, dim=None, keepdim=False, interpolation="linear"):
    """`torch.quantile`, of one number `q` or of several, whose results are then along a new first dimension."""
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        refuse(f"`quantile` with the interpolation {interpolation}")
    if dim is None and keepdim:
        refuse("`quantile` of all elements with `keepdim`", "reshape the result")
    if dim is None:
        return quantile_of_rows(input.flatten(), q, interpolation)
    at = dim + input.dim() if dim < 0 else dim
    last = input.dim() - 1
    x = input if at == last else input.movedim(at, last)
    found = quantile_of_rows(x, q, interpolation)
    return found.unsqueeze(at + 1 if has_dimensions(q) else at) if keepdim else found


def quantile_of_rows(x, q, interpolation):
    if has_dimensions(q):
        return torch.stack([quantile_of_rows(x, share, interpolation) for share in q.tolist()])
    if x.dim() > 1:
        return torch.stack([quantile_of_rows(row, q, interpolation) for row in x])
    numbers = x.tolist()
    return torch.tensor(between([numbers[i] for i in in_order(numbers, False)], float(q), interpolation))


def between(ordered, q, interpolation):
    """What stands at `q`, from 0 to 1, among numbers in ascending order."""
    if q < 0.0 or q > 1.0 or len(ordered) == 0:
        raise RuntimeError(f"a quantile at {q} of {len(ordered)} elements")
    if ordered[-1] != ordered[-1]:
        return ordered[-1]
    place = q * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if interpolation == "lower" or low == high:
        return ordered[low]
    if interpolation == "higher":
        return ordered[high]
    if interpolation == "nearest":
        return ordered[round(place)]
    share = 0.5 if interpolation == "midpoint" else place - low
    return ordered[low] + share * (ordered[high] - ordered[low])


def histc(input, bins=100, min=0, max=0):
    """How many elements are in each of `bins` equal parts of the range from `min` to `max`, or of that of the elements."""
    x = input.flatten()
    low, high = torch.full((), float(min)), torch.full((), float(max))
    if min == max:
        low, high = x.amin(), x.amax()
        low, high = torch.where(same(low, high), low - 1.0, low), torch.where(same(low, high), high + 1.0, high)
    place = torch.floor((x - low) * float(bins) / (high - low))
    place = torch.where(same(x, high), float(bins - 1), place)
    return torch.stack([same(place, float(i)).float().sum() for i in unrolled(range(bins))])


def isin(elements, test_elements, assume_unique=False, invert=False):
    """The mask of the elements that are among `test_elements`, a tensor or a number."""
    if has_dimensions(test_elements):
        count = (elements.unsqueeze(-1) == test_elements.flatten()).float().sum(-1)
        found = less(0.5, count)
    else:
        found = same(elements, test_elements)
    return ~found if invert else found


def renorm(input, p, dim, maxnorm):
    """The parts along `dim`, those scaled down whose `p`-norm is above `maxnorm`."""
    if input.dim() < 2:
        refuse("`renorm` of a tensor of one dimension", "unsqueeze it")
    at = dim + input.dim() if dim < 0 else dim
    rows = input if at == 0 else input.transpose(0, at)
    size = norm(rows if rows.dim() == 2 else rows.flatten(1), p, 1)
    scale = torch.where(less(maxnorm, size), maxnorm / (size + 1e-7), 1.0)
    for _ in unrolled(range(input.dim() - 1)):
        scale = scale.unsqueeze(-1)
    return rows * scale if at == 0 else (rows * scale).transpose(0, at)
