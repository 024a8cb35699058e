"""Convolution over two dimensions, and adaptive pooling over two or one, which may vary. Of an image of fixed extents each
offset in the window takes one slice of the whole input: a window of 3 x 3 becomes nine products."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.words import is_fixed, refuse, unrolled

ONE, ONES = (1, (1,)), (1, (1, 1))
"""The ways in which PyTorch writes an output size of 1, and one of 1 x 1."""


def one_image(input):
    if input.dim() == 4 and input.size(0) != 1:
        refuse("a convolution or pooling of several images", "an instance has one image")
    return input if input.dim() == 3 else input.select(0, 0)


def has_room(size, window):
    """Check that a window is not larger than the extent, padding included, over which it moves."""
    if size < window:
        raise RuntimeError(f"a window of {window} is larger than the extent of {size} that it moves over")


def every(input, dim, step):
    """The input with every `step`-th index along `dim`, from index 0 on."""
    return input if step == 1 else torch.stack(input.unbind(dim)[::step], dim)


def convolved(self, x, dilation):
    """The convolution of a padded (channels, height, width), with strides of 1 and `dilation` along the height."""
    (kh, kw), dw = self.kernel_size, self.dilation[1]
    height, width = x.size(1) - dilation * (kh - 1), x.size(2) - dw * (kw - 1)
    total = torch.zeros(self.out_channels, height * width)
    for a in unrolled(range(kh)):
        for b in unrolled(range(kw)):
            part = x[:, a * dilation : a * dilation + height, b * dw : b * dw + width]
            total = total + self.weight[:, :, a, b] @ part.reshape(self.in_channels, height * width)
    if self.bias is not None:
        total = total + self.bias.unsqueeze(1)
    return total.reshape(self.out_channels, height, width)


def convolved_by_place(self, x):
    """The convolution of an image whose width varies, and maybe its height: each place's window is a product with the weights,
    so that windows of images of all sizes join one batch."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = self.kernel_size, self.stride, self.padding, self.dilation
    zero = torch.zeros(self.in_channels)
    sides = [zero for _ in range(pw)]
    rows = [sides + list(row.unbind(1)) + sides for row in x.unbind(1)]
    width = x.size(2) + 2 * pw
    edges = [[zero for _ in range(width)] for _ in range(ph)]
    rows = edges + rows + edges
    weights = self.weight.flatten(1)
    has_room(len(rows), dh * (kh - 1) + 1)
    has_room(width, dw * (kw - 1) + 1)
    out = []
    for t in range(0, len(rows) - dh * (kh - 1), sh):
        windows = [
            torch.stack([rows[t + k // kw * dh][u + k % kw * dw] for k in unrolled(range(kh * kw))], 1)
            for u in range(0, width - dw * (kw - 1), sw)
        ]
        out.append(torch.stack([F.linear(window.flatten(), weights, self.bias) for window in windows], 1))
    return torch.stack(out, 1)


def conv2d(self, input):
    if self.groups != 1 or self.padding_mode != "zeros" or isinstance(self.padding, str):
        refuse("a Conv2d with groups, or padding other than a number of zeros")
    x = one_image(input)
    (kh, _), (sh, sw), (ph, pw), (dh, _) = self.kernel_size, self.stride, self.padding, self.dilation
    if not is_fixed(x.size(2)):
        out = convolved_by_place(self, x)
        return out if input.dim() == 3 else out.unsqueeze(0)
    if not is_fixed(x.size(1)):
        rows = [F.pad(row, (pw, pw)) for row in x.unbind(1)]
        zeros = [torch.zeros(self.in_channels, x.size(2) + 2 * pw) for _ in range(ph)]
        rows = zeros + rows + zeros
        has_room(len(rows), dh * (kh - 1) + 1)
        windows = [
            convolved(self, torch.stack([rows[t + a * dh] for a in unrolled(range(kh))], 1), 1).select(1, 0)
            for t in range(0, len(rows) - dh * (kh - 1), sh)
        ]
        out = torch.stack([every(window, 1, sw) for window in windows], 1)
        return out if input.dim() == 3 else out.unsqueeze(0)
    if ph > 0 or pw > 0:
        x = F.pad(x, (pw, pw, ph, ph))
    out = every(every(convolved(self, x, dh), 1, sh), 2, sw)
    return out if input.dim() == 3 else out.unsqueeze(0)


def at_places(x, dim, count, reduced):
    """Adaptive pooling along one dimension: what `reduced` makes of the parts that each of `count` places stands for. None
    stands for as many places as there are parts."""
    size = x.size(dim)
    has_room(size, 1)
    if count is None:
        return x
    places = unrolled(range(count))
    return torch.stack(
        [reduced(part_of(x, dim, i * size // count, ((i + 1) * size + count - 1) // count), dim) for i in places], dim
    )


def part_of(x, dim, start, end):
    return x[:, start:end] if dim == 1 else x[:, :, start:end]


def adaptive(input, output_size, reduced):
    """Adaptive pooling of the rows of an image, then of its columns."""
    oh, ow = (output_size, output_size) if isinstance(output_size, int) else output_size
    out = at_places(at_places(one_image(input), 1, oh, reduced), 2, ow, reduced)
    return out if input.dim() == 3 else out.unsqueeze(0)


def adaptive_over_time(input, output_size, reduced):
    """Adaptive pooling of a sequence of shape (channels, time) or (1, channels, time)."""
    count = output_size if output_size is None or isinstance(output_size, int) else output_size[0]
    out = at_places(one_sequence(input), 1, count, reduced)
    return out if input.dim() == 2 else out.unsqueeze(0)


def adaptive_avg_pool2d(input, output_size):
    if output_size in ONES:
        return input.mean(-1, True).mean(-2, True)
    return adaptive(input, output_size, torch.mean)


def adaptive_max_pool2d(input, output_size):
    if output_size in ONES:
        return input.amax(-1, True).amax(-2, True)
    return adaptive(input, output_size, torch.amax)


def adaptive_avg_pool2d_module(self, input):
    return adaptive_avg_pool2d(input, self.output_size)


def adaptive_max_pool2d_module(self, input):
    return adaptive_max_pool2d(input, self.output_size)


# ---- over one dimension, which may vary


def one_sequence(input):
    if input.dim() == 3 and input.size(0) != 1:
        refuse("pooling of a batch", "an instance has one sequence")
    return input if input.dim() == 2 else input.select(0, 0)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    if return_indices:
        refuse("adaptive pooling with `return_indices`")
    return input.amax(-1, True) if output_size in ONE else adaptive_over_time(input, output_size, torch.amax)


def adaptive_avg_pool1d(input, output_size):
    return input.mean(-1, True) if output_size in ONE else adaptive_over_time(input, output_size, torch.mean)


def adaptive_max_pool1d_module(self, input):
    return adaptive_max_pool1d(input, self.output_size, self.return_indices)


def adaptive_avg_pool1d_module(self, input):
    return adaptive_avg_pool1d(input, self.output_size)
