"""Pooling over two dimensions, and over one, which may vary. Of an image each offset in the window takes one slice of the whole
input: a window of 3 x 3 becomes nine maxima, or a sum of nine."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.batches import each
from backends.acrobat.library.images import every, has_room
from backends.acrobat.library.words import is_fixed, only, pair, refuse, unrolled

ZERO, ONE = (0, (0,)), (1, (1,))
"""The ways in which PyTorch writes a padding of 0, and a dilation of 1."""


def places(size, window, step, padding, ceil_mode):
    """How many windows PyTorch takes along an extent of `size`. With `ceil_mode` the last one may reach over the end, but no
    window begins behind the input and its padding before it."""
    room = size + 2 * padding - window
    if not ceil_mode:
        return room // step + 1
    count = (room + step - 1) // step + 1
    return count - 1 if (count - 1) * step >= size + padding else count


def slid(x, kernel_size, step, dilation, largest):
    """The maximum, or the sum, of each window of a (channels, height, width) in which the windows have room."""
    (kh, kw), (sh, sw), (dh, dw) = kernel_size, step, dilation
    height, width = x.size(1) - dh * (kh - 1), x.size(2) - dw * (kw - 1)
    out = x[:, :height, :width]
    for a in unrolled(range(kh)):
        for b in unrolled(range(kw)):
            if a + b > 0:
                part = x[:, a * dh : a * dh + height, b * dw : b * dw + width]
                out = torch.maximum(out, part) if largest else out + part
    return every(every(out, 1, sh), 2, sw)


def padded(x, padding, kernel_size, dilation, ceil_mode, filler):
    """The image with its padding; with `ceil_mode` there is room for windows that reach over the end."""
    (ph, pw), (kh, kw), (dh, dw) = padding, kernel_size, dilation
    more_h, more_w = (dh * (kh - 1), dw * (kw - 1)) if ceil_mode else (0, 0)
    if ph + pw + more_h + more_w == 0:
        return x
    return F.pad(x, (pw, pw + more_w, ph, ph + more_h), "constant", filler)


def pooled(x, kernel_size, stride, padding, dilation, ceil_mode, largest):
    """The maximum or the sum of each window of a (channels, height, width)."""
    (kh, kw), (sh, sw) = pair(kernel_size), pair(kernel_size if stride is None else stride)
    (ph, pw), (dh, dw) = pair(padding), pair(dilation)
    has_room(x.size(1) + 2 * ph, dh * (kh - 1) + 1)
    has_room(x.size(2) + 2 * pw, dw * (kw - 1) + 1)
    x_padded = padded(x, (ph, pw), (kh, kw), (dh, dw), ceil_mode, float("-inf") if largest else 0.0)
    out = slid(x_padded, (kh, kw), (sh, sw), (dh, dw), largest)
    if not ceil_mode:
        return out
    height = places(x.size(1), dh * (kh - 1) + 1, sh, ph, True)
    width = places(x.size(2), dw * (kw - 1) + 1, sw, pw, True)
    return out[:, :height, :width]


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        refuse("max pooling with `return_indices`")
    return each(input, 3, lambda x: pooled(x, kernel_size, stride, padding, dilation, ceil_mode, True))


def counted(x, kernel_size, stride, padding, ceil_mode, count_include_pad):
    """How many elements each window has, of shape (1, height, width): elements over the end do not count, and those of the
    padding do or do not."""
    ones = torch.ones(1, x.size(1), x.size(2))
    if not count_include_pad:
        return pooled(ones, kernel_size, stride, padding, 1, ceil_mode, False)
    (kh, kw), (sh, sw), (ph, pw) = pair(kernel_size), pair(kernel_size if stride is None else stride), pair(padding)
    with_padding = F.pad(ones, (pw, pw, ph, ph), "constant", 1.0) if ph + pw > 0 else ones
    out = slid(padded(with_padding, (0, 0), (kh, kw), (1, 1), ceil_mode, 0.0), (kh, kw), (sh, sw), (1, 1), False)
    height, width = places(x.size(1), kh, sh, ph, ceil_mode), places(x.size(2), kw, sw, pw, ceil_mode)
    return out[:, :height, :width]


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    kh, kw = pair(kernel_size)
    total = each(input, 3, lambda x: pooled(x, kernel_size, stride, padding, 1, ceil_mode, False))
    if divisor_override is not None:
        return total * (1.0 / divisor_override)
    if not ceil_mode and count_include_pad:
        return total * (1.0 / (kh * kw))
    image = input if input.dim() == 3 else input[0]
    return total / counted(image, kernel_size, stride, padding, ceil_mode, count_include_pad)


# ---- over one dimension, which may vary


def windows(x, kernel_size, stride):
    """The windows over time of a (channels, time), each of shape (channels, window)."""
    columns = list(x.unbind(1))
    size = only(kernel_size)
    has_room(len(columns), size)
    step = only(kernel_size if stride is None else stride)
    return [torch.stack(columns[t : t + size], 1) for t in range(0, len(columns) - size + 1, step)]


def whole(input, kernel_size):
    """Check that a window whose size is known at run time only, such as `x.size(2)`, is as long as the input."""
    if kernel_size != input.size(-1):
        raise ValueError(f"a window of {kernel_size} over {input.size(-1)} steps: one that varies takes all steps")


def pooled_over_time(x, kernel_size, stride, largest):
    if not is_fixed(kernel_size):
        whole(x, kernel_size)
        return x.amax(-1, True) if largest else x.mean(-1, True)
    return torch.stack([w.amax(1) if largest else w.mean(1) for w in windows(x, kernel_size, stride)], 1)


def steps_and_starts(x, size, stride, padding, dilation, ceil_mode, filler):
    """The steps of a sequence with its padding, and behind them enough for the last window; and where the windows begin."""
    columns = list(x.unbind(1))
    has_room(len(columns) + 2 * padding, dilation * (size - 1) + 1)
    edge = torch.zeros(x.size(0)) + filler
    count = places(len(columns), dilation * (size - 1) + 1, stride, padding, ceil_mode)
    before = [edge for _ in range(padding)]
    behind = [edge for _ in range(padding + dilation * (size - 1))]
    return before + columns + behind, range(0, count * stride, stride)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        refuse("max pooling over time with `return_indices`")
    if padding in ZERO and dilation in ONE and not ceil_mode:
        return each(input, 2, lambda x: pooled_over_time(x, kernel_size, stride, True))
    size, spread, step = only(kernel_size), only(dilation), only(kernel_size if stride is None else stride)
    return each(input, 2, lambda x: maxima(x, size, step, only(padding), spread, ceil_mode))


def maxima(x, size, step, padding, spread, ceil_mode):
    """The maximum of each window of a (channels, time) with its padding, whose elements are `spread` steps apart."""
    steps, starts = steps_and_starts(x, size, step, padding, spread, ceil_mode, float("-inf"))
    return torch.stack([torch.stack([steps[t + j * spread] for j in unrolled(range(size))], 1).amax(1) for t in starts], 1)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    if padding in ZERO and not ceil_mode:
        return each(input, 2, lambda x: pooled_over_time(x, kernel_size, stride, False))
    size, edge, step = only(kernel_size), only(padding), only(kernel_size if stride is None else stride)
    return each(input, 2, lambda x: means(x, size, step, edge, ceil_mode, count_include_pad))


def means(x, size, step, edge, ceil_mode, count_include_pad):
    """The mean of each window of a (channels, time) with `edge` zeros at both ends, which count or do not."""
    steps, starts = steps_and_starts(x, size, step, edge, 1, ceil_mode, 0.0)
    length = x.size(-1)
    taken = []
    for t in starts:
        total = torch.stack([steps[t + j] for j in unrolled(range(size))], 1).sum(1)
        if count_include_pad:
            count = min(t + size, length + 2 * edge) - t
        else:
            count = min(t + size, length + edge) - max(t, edge)
        taken.append(total / count)
    return torch.stack(taken, 1)
