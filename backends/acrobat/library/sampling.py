"""Sequences and images of other sizes, and parts of an image at places that are computed."""

import math

import torch
import torch.nn.functional as F

from backends.acrobat.library.batches import each
from backends.acrobat.library.images import has_room
from backends.acrobat.library.words import is_fixed, refuse, unrolled


def single(number):
    """A number rounded to float32, in which PyTorch computes where parts come from: 29 bits of the 53 are taken off."""
    scaled = number * 536870913.0
    return scaled - (scaled - number)


def near(i, size, scale, exact):
    """Which of `size` parts is the nearest one for part `i` of the result, where each is `scale` parts of the input wide."""
    return min(math.floor(single((i + 0.5 if exact else i) * scale)), size - 1)


def between(parts, i, scale, aligned):
    """What linear interpolation gives for part `i` of the result."""
    at = i * scale if aligned else max((i + 0.5) * scale - 0.5, 0.0)
    low = min(math.floor(at), len(parts) - 1)
    share = min(at - low, 1.0)
    return parts[low] * (1.0 - share) + parts[min(low + 1, len(parts) - 1)] * share


def resized(x, dim, count, scale, mode, aligned):
    """The input with `count` parts along `dim`, each of which stands for `scale` parts of it, or for as many as there are room
    for if that is None."""
    size, parts = x.size(dim), x.unbind(dim)
    has_room(size, 1)
    if aligned:
        step = (size - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = size / count if scale is None else 1.0 / scale
    if mode.startswith("nearest"):
        step = single(step)
        if is_fixed(count) and is_fixed(size):
            return torch.stack([parts[near(i, size, step, mode != "nearest")] for i in unrolled(range(count))], dim)
        return torch.stack([parts[near(i, size, step, mode != "nearest")] for i in range(count)], dim)
    if is_fixed(count) and is_fixed(size):
        return torch.stack([between(parts, i, step, aligned) for i in unrolled(range(count))], dim)
    return torch.stack([between(parts, i, step, aligned) for i in range(count)], dim)


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """`torch.nn.functional.interpolate` of (batch, channels, time) or (batch, channels, height, width)."""
    rank = input.dim() - 2
    if rank not in (1, 2):
        refuse(f"`interpolate` of a tensor of {input.dim()} dimensions", "one has a batch, channels, and one or two others")
    if mode == "area":
        refuse("`interpolate` with `mode='area'`", "write F.adaptive_avg_pool1d or F.adaptive_avg_pool2d")
    if antialias or mode not in ("nearest", "nearest-exact", "linear" if rank == 1 else "bilinear"):
        refuse(f"`interpolate` of {input.dim()} dimensions with `mode={mode!r}`, or with `antialias`", "take a linear mode")
    given = scale_factor if size is None else size
    each_given = (given,) * rank if isinstance(given, (int, float)) else given
    aligned = align_corners is not None and align_corners
    out = input
    for d in unrolled(range(rank)):
        count = math.floor(out.size(2 + d) * each_given[d]) if size is None else each_given[d]
        scale = each_given[d] if size is None and not recompute_scale_factor else None
        out = resized(out, 2 + d, count, scale, mode, aligned)
    return out


def affine_grid(theta, size, align_corners=False):
    """The places of a grid of (batch, channels, height, width), from -1 to 1, after the affine map `theta` (batch, 2, 3)."""
    height, width = size[2], size[3]
    x = centres(width, align_corners).unsqueeze(0).expand(height, width)
    y = centres(height, align_corners).unsqueeze(1).expand(height, width)
    places = torch.stack([x.reshape(height * width), y.reshape(height * width), torch.ones(height * width)], 1)
    return each(theta, 2, lambda map: (places @ map.t()).reshape(height, width, 2))


def centres(count, aligned):
    """The places of `count` parts along a side from -1 to 1: from end to end if `aligned`, else of their middles."""
    if aligned and count == 1:
        return torch.zeros(1)
    end = 1.0 if aligned else 1.0 - 1.0 / count
    return torch.linspace(-end, end, count)


def spaced(start, end, steps):
    """`torch.linspace` of numbers that are known at run time only."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first = float(start)
    last = max(steps - 1, 1)
    return torch.tensor([first + (float(end) - first) * i / last for i in range(steps)])


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """`torch.nn.functional.grid_sample` of (batch, channels, height, width). Each place takes a share of all
    rows and columns, which is 0 for those that are not next to it."""
    if mode != "bilinear" or padding_mode not in ("zeros", "border") or input.dim() != 4:
        refuse("`grid_sample` other than of two dimensions, bilinear, with zeros or the border", "name these")
    if input.size(0) != grid.size(0):
        raise RuntimeError(f"{input.size(0)} images are taken at the places of {grid.size(0)} grids")
    aligned = align_corners is not None and align_corners
    images = zip(input.unbind(0), grid.unbind(0))
    return torch.stack([sampled(x, places, padding_mode == "border", aligned) for x, places in images])


def sampled(x, grid, border, aligned):
    channels, height, width = x.size(0), x.size(1), x.size(2)
    places = grid.reshape(-1, 2)
    columns = shares(places[:, 0], width, border, aligned)
    rows = shares(places[:, 1], height, border, aligned)
    if is_fixed(height) and is_fixed(width):
        along = (x.reshape(channels * height, width) @ columns.t()).reshape(channels, height, -1)
    else:
        along = x @ columns.t()
    return (along * rows.t()).sum(1).reshape(channels, grid.size(0), grid.size(1))


def shares(places, size, border, aligned):
    """How much of each of `size` parts every place takes, of shape (places, size)."""
    at = (places + 1.0) * ((size - 1) / 2.0) if aligned else (places + 1.0) * (size / 2.0) - 0.5
    if border:
        at = at.clamp(0.0, size - 1.0)
    parts = torch.tensor([float(i) for i in unrolled(range(size))]) if is_fixed(size) else torch.arange(size).float()
    return F.relu(1.0 - (at.unsqueeze(1) - parts).abs())
