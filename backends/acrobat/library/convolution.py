"""Convolution over time as a product of each window with the weights: windows of sequences of all lengths join one batch."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.images import has_room
from backends.acrobat.library.words import is_fixed, refuse, unrolled


def over_time(input, weight, bias, stride, padding, dilation):
    """The convolution of an input of shape (channels, time) or (1, channels, time)."""
    if input.dim() == 3 and input.size(0) != 1:
        refuse("a Conv1d of a batch", "an instance has one sequence")
    if not is_fixed(weight.size(1)) or not is_fixed(weight.size(2)):
        refuse("a convolution whose kernel varies in its extents", "take a part of constant size as the kernel")
    x = input if input.dim() == 2 else input.select(0, 0)
    size = weight.size(2)
    zeros = [torch.zeros(weight.size(1)) for _ in range(padding)]
    columns = zeros + list(x.unbind(1)) + zeros
    rows = weight.flatten(1)
    has_room(len(columns), dilation * (size - 1) + 1)
    out = [
        F.linear(torch.stack([columns[t + j * dilation] for j in unrolled(range(size))], 1).flatten(), rows, bias)
        for t in range(0, len(columns) - dilation * (size - 1), stride)
    ]
    result = torch.stack(out, 1)
    return result if input.dim() == 2 else result.unsqueeze(0)


def conv1d_module(self, input):
    if self.groups != 1 or self.padding_mode != "zeros" or isinstance(self.padding, str):
        refuse("a Conv1d with groups, or padding other than a number of zeros")
    return over_time(input, self.weight, self.bias, self.stride[0], self.padding[0], self.dilation[0])


def only(setting):
    """A stride, padding or dilation over one dimension, which may be written `1` or `(1,)`."""
    return setting if isinstance(setting, int) else setting[0]


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if groups != 1 or isinstance(padding, str):
        refuse("`conv1d` with groups, or padding other than a number of zeros")
    return over_time(input, weight, bias, only(stride), only(padding), only(dilation))
