"""Convolution over time as a product of each window with the weights: windows of sequences of all lengths join one batch."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.images import has_room
from backends.acrobat.library.words import is_fixed, refuse, unrolled


def over_time(input, weight, bias, stride, padding, dilation, groups=1):
    """The convolution of an input of shape (channels, time) or (1, channels, time)."""
    if input.dim() == 3 and input.size(0) != 1:
        refuse("a Conv1d of a batch", "an instance has one sequence")
    if not is_fixed(weight.size(1)) or not is_fixed(weight.size(2)):
        refuse("a convolution whose kernel varies in its extents", "take a part of constant size as the kernel")
    x = input if input.dim() == 2 else input.select(0, 0)
    size = weight.size(2)
    before, after = sides(padding, dilation * (size - 1), stride)
    zero = torch.zeros(weight.size(1) * groups)
    columns = [zero for _ in range(before)] + list(x.unbind(1)) + [zero for _ in range(after)]
    has_room(len(columns), dilation * (size - 1) + 1)
    out = [
        of_window(torch.stack([columns[t + j * dilation] for j in unrolled(range(size))], 1), weight, bias, groups)
        for t in range(0, len(columns) - dilation * (size - 1), stride)
    ]
    result = torch.stack(out, 1)
    return result if input.dim() == 2 else result.unsqueeze(0)


def sides(padding, more, stride):
    """How many zeros are before and behind the input, where a window takes `more` elements beside the first."""
    if not isinstance(padding, str):
        return padding, padding
    if padding == "valid":
        return 0, 0
    if padding != "same" or stride != 1:
        refuse("a convolution with padding in words other than `same`, with a stride of 1, and `valid`")
    return more // 2, more - more // 2


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


def conv1d_module(self, input):
    if self.padding_mode != "zeros":
        refuse("a Conv1d with a padding of other than zeros")
    padding = self.padding if isinstance(self.padding, str) else self.padding[0]
    return over_time(input, self.weight, self.bias, self.stride[0], padding, self.dilation[0], self.groups)


def only(setting):
    """A stride, padding or dilation over one dimension, which may be written `1` or `(1,)`."""
    return setting if isinstance(setting, int) else setting[0]


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    around = padding if isinstance(padding, (int, str)) else padding[0]
    step = stride if isinstance(stride, int) else stride[0]
    return over_time(input, weight, bias, step, around, only(dilation), groups)


def conv_transpose1d_module(self, input, output_size=None):
    if output_size is not None or self.padding_mode != "zeros":
        refuse("a ConvTranspose1d with `output_size`")
    return conv_transpose1d(
        input,
        self.weight,
        self.bias,
        self.stride[0],
        self.padding[0],
        self.output_padding[0],
        self.groups,
        self.dilation[0],
    )


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each column of (channels, time) or (1, channels, time) is multiplied with the weights (channels, outputs, size), and what
    it gives is added to the columns of the result that it reaches."""
    if groups != 1:
        refuse("a transposed convolution with groups")
    if input.dim() == 3 and input.size(0) != 1:
        refuse("a ConvTranspose1d of a batch", "an instance has one sequence")
    step, cut, gap = only(stride), only(padding), only(dilation)
    x = input if input.dim() == 2 else input.select(0, 0)
    outputs, size = weight.size(1), weight.size(2)
    taps = [weight.select(2, j).t() for j in unrolled(range(size))]
    pieces = [[F.linear(column, tap) for tap in unrolled(taps)] for column in x.unbind(1)]
    length = (len(pieces) - 1) * step - 2 * cut + gap * (size - 1) + only(output_padding) + 1
    out = [reaching(pieces, t + cut, step, gap, size, outputs) for t in range(length)]
    result = torch.stack(out, 1)
    if bias is not None:
        result = result + bias.unsqueeze(1)
    return result if input.dim() == 2 else result.unsqueeze(0)


def reaching(pieces, place, step, gap, size, outputs):
    """The sum of those pieces that reach one column of the result."""
    total = torch.zeros(outputs)
    for j in unrolled(range(size)):
        at = place - j * gap
        if at % step == 0 and 0 <= at // step < len(pieces):
            total = total + pieces[at // step][j]
    return total
