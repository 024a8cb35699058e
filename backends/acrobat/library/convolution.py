"""Convolution over time as a product of each window with the weights: windows of sequences of all lengths join one batch."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.batches import each
from backends.acrobat.library.images import has_room
from backends.acrobat.library.words import is_fixed, only, refuse, sides, unrolled


def over_time(x, weight, bias, stride, padding, dilation, groups):
    """The convolution of an input of shape (channels, time)."""
    if not is_fixed(weight.size(1)) or not is_fixed(weight.size(2)):
        refuse("a convolution whose kernel varies in its extents", "take a part of constant size as the kernel")
    size = weight.size(2)
    before, after = sides(padding, dilation * (size - 1), stride)
    zero = torch.zeros(weight.size(1) * groups)
    columns = [zero for _ in range(before)] + list(x.unbind(1)) + [zero for _ in range(after)]
    has_room(len(columns), dilation * (size - 1) + 1)
    out = [
        of_window(torch.stack([columns[t + j * dilation] for j in unrolled(range(size))], 1), weight, bias, groups)
        for t in range(0, len(columns) - dilation * (size - 1), stride)
    ]
    return torch.stack(out, 1)


def of_window(window, weight, bias, groups):
    """The products of the weights with one window, of shape (channels, size)."""
    if groups == 1:
        return F.linear(window.flatten(), weight.flatten(1), bias)
    if weight.size(1) == 1 and weight.size(0) == groups:  # each channel by itself
        out = (window * weight.flatten(1)).sum(1)
    else:
        pairs = zip(window.chunk(groups, 0), weight.flatten(1).chunk(groups, 0))
        out = torch.cat([F.linear(part.flatten(), rows) for part, rows in unrolled(pairs)])
    return out if bias is None else out + bias


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    step, around, gap = only(stride), only(padding), only(dilation)
    return each(input, 2, lambda x: over_time(x, weight, bias, step, around, gap, groups))


def conv1d_module(self, input):
    if self.padding_mode == "zeros":
        return conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
    before, after = sides(only(self.padding), self.dilation[0] * (self.kernel_size[0] - 1), self.stride[0])
    around = F.pad(input, (before, after), self.padding_mode)
    return conv1d(around, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


def conv_transpose1d_module(self, input, output_size=None):
    if output_size is not None:
        refuse("a ConvTranspose1d with `output_size`", "give the module an `output_padding`")
    more = self.output_padding
    return conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each column of (channels, time) is multiplied with the weights (channels, outputs, size), and what it gives is added to
    the columns of the result that it reaches."""
    step, cut, more, gap = only(stride), only(padding), only(output_padding), only(dilation)
    if groups == 1:
        out = each(input, 2, lambda x: reached(x, weight, step, cut, more, gap))
    else:
        pairs = unrolled(zip(input.chunk(groups, -2), weight.chunk(groups, 0)))
        parts = [each(part, 2, lambda x, w=taps: reached(x, w, step, cut, more, gap)) for part, taps in pairs]
        out = torch.cat(parts, -2)
    return out if bias is None else out + bias.unsqueeze(1)


def reached(x, weight, step, cut, more, gap):
    """The transposed convolution of (channels, time), without a bias."""
    outputs, size = weight.size(1), weight.size(2)
    taps = [weight.select(2, j).t() for j in unrolled(range(size))]
    pieces = [[F.linear(column, tap) for tap in unrolled(taps)] for column in x.unbind(1)]
    length = (len(pieces) - 1) * step - 2 * cut + gap * (size - 1) + more + 1
    return torch.stack([reaching(pieces, t + cut, step, gap, size, outputs) for t in range(length)], 1)


def reaching(pieces, place, step, gap, size, outputs):
    """The sum of those pieces that reach one column of the result."""
    total = torch.zeros(outputs)
    for j in unrolled(range(size)):
        at = place - j * gap
        if at % step == 0 and 0 <= at // step < len(pieces):
            total = total + pieces[at // step][j]
    return total
