"""What runs along one dimension: extrema and sums of exponentials so far, differences of neighbours, and areas under them."""

import torch

from backends.acrobat.library.elementwise import logaddexp
from backends.acrobat.library.moving import cumsum
from backends.acrobat.library.words import at_most, refuse, unrolled


def cummax(input, dim):
    return extremes_so_far(input, dim)


def cummin(input, dim):
    values, places = extremes_so_far(-input, dim)
    return -values, places


def highest_ints_so_far(numbers):
    places = []
    for i, number in enumerate(numbers):
        places.append(i if i == 0 or number >= numbers[places[-1]] else places[-1])
    return torch.tensor([numbers[i] for i in places]), torch.tensor(places)


def extremes_so_far(input, dim):
    """The highest elements so far along `dim`, NaN being the highest, and their indices: of equal ones the last."""
    if input.dtype == torch.int64 and input.dim() == 1:
        return highest_ints_so_far(input.tolist())
    if input.dtype in (torch.int64, torch.bool):
        refuse("`cummax` or `cummin` of ints in several dimensions", "write `.float()` before it")
    if input.size(dim) == 0:
        return input, torch.zeros_like(input).long()
    parts = input.unbind(dim)
    best, place = parts[0], torch.zeros_like(parts[0])
    values, places = [], []
    for i, part in enumerate(parts):
        taken = torch.isnan(part) | at_most(best, part)
        best, place = torch.where(taken, part, best), torch.where(taken, float(i), place)
        values.append(best)
        places.append(place)
    return torch.stack(values, dim), torch.stack(places, dim).long()


def logcumsumexp(input, dim):
    if input.size(dim) == 0:
        return input
    parts = input.unbind(dim)
    total = torch.full_like(parts[0], float("-inf"))
    totals = []
    for part in parts:
        total = logaddexp(total, part)
        totals.append(total)
    return torch.stack(totals, dim)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """`torch.diff`: what each part is above the one before it, `n` times over."""
    if input.dtype == torch.bool:
        refuse("`diff` of a mask", "compare its neighbours: `m[1:] ^ m[:-1]`")
    if prepend is not None:
        input = torch.cat([prepend, input], dim)
    if append is not None:
        input = torch.cat([input, append], dim)
    at = dim + input.dim() if dim < 0 else dim
    if at == 1:  # without a transpose: the columns that are left may be none, and then there is no row to turn back
        for _ in unrolled(range(n)):
            input = input[:, 1:] - input[:, :-1]
        return input
    x = input if at == 0 else input.transpose(0, at)
    for _ in unrolled(range(n)):
        x = x[1:] - x[:-1]
    return x if at == 0 else x.transpose(0, at)


def areas(y, x, dx, dim):
    """The areas of the trapezoids between neighbours along `dim`."""
    at = dim + y.dim() if dim < 0 else dim
    heights = y if at == 0 else y.transpose(0, at)
    means = (heights[1:] + heights[:-1]) * 0.5
    if x is None:
        means = means * dx
    else:
        places = x if x.dim() == 1 or at == 0 else x.transpose(0, at)
        widths = places[1:] - places[:-1]
        if x.dim() == 1:
            for _ in unrolled(range(y.dim() - 1)):
                widths = widths.unsqueeze(-1)
        means = means * widths
    return means if at == 0 else means.transpose(0, at)


def trapezoid(y, x=None, dx=1.0, dim=-1):
    return areas(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, dx=1.0, dim=-1):
    return cumsum(areas(y, x, dx, dim), dim)
