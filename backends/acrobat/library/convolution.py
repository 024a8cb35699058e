"""Convolution over time as a product of each window with the weights: windows of sequences of all lengths join one batch."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.words import refuse, unrolled


def conv1d(self, input):
    """`nn.Conv1d` of an input of shape (channels, time) or (1, channels, time)."""
    if self.groups != 1 or self.padding_mode != "zeros" or isinstance(self.padding, str):
        refuse("a Conv1d with groups, or padding other than a number of zeros")
    if input.dim() == 3 and input.size(0) != 1:
        refuse("a Conv1d of a batch", "an instance has one sequence")
    x = input if input.dim() == 2 else input.select(0, 0)
    (size,), (stride,), (padding,), (dilation,) = self.kernel_size, self.stride, self.padding, self.dilation
    zeros = [torch.zeros(self.in_channels) for _ in range(padding)]
    columns = zeros + list(x.unbind(1)) + zeros
    weight = self.weight.flatten(1)
    out = [
        F.linear(torch.stack([columns[t + j * dilation] for j in unrolled(range(size))], 1).flatten(), weight, self.bias)
        for t in range(0, len(columns) - dilation * (size - 1), stride)
    ]
    result = torch.stack(out, 1)
    return result if input.dim() == 2 else result.unsqueeze(0)
