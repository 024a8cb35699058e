"""Convolution over two dimensions, which may vary. Of an image of fixed extents each offset in the window takes one slice of
the whole input: a window of 3 x 3 becomes nine products."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.batches import each
from backends.acrobat.library.words import is_fixed, pair, refuse, sides, unrolled


def has_room(size, window):
    """Check that a window is not larger than the extent, padding included, over which it moves."""
    if size < window:
        raise RuntimeError(f"a window of {window} is larger than the extent of {size} that it moves over")


def every(input, dim, step):
    """The input with every `step`-th index along `dim`, from index 0 on."""
    return input if step == 1 else torch.stack(input.unbind(dim)[::step], dim)


def convolved(x, weight, bias, dilation):
    """The convolution of a padded (channels, height, width), with strides of 1."""
    (kh, kw), (dh, dw), channels = (weight.size(2), weight.size(3)), dilation, weight.size(1)
    height, width = x.size(1) - dh * (kh - 1), x.size(2) - dw * (kw - 1)
    total = torch.zeros(weight.size(0), height * width)
    for a in unrolled(range(kh)):
        for b in unrolled(range(kw)):
            part = x[:, a * dh : a * dh + height, b * dw : b * dw + width]
            total = total + weight[:, :, a, b] @ part.reshape(channels, height * width)
    if bias is not None:
        total = total + bias.unsqueeze(1)
    return total.reshape(weight.size(0), height, width)


def convolved_by_place(x, weight, bias, stride, padding, dilation):
    """The convolution of an image whose width varies, and maybe its height: each place's window is a product with the weights,
    so that windows of images of all sizes join one batch."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = (weight.size(2), weight.size(3)), stride, padding, dilation
    zero = torch.zeros(weight.size(1))
    sides = [zero for _ in range(pw)]
    rows = [sides + list(row.unbind(1)) + sides for row in x.unbind(1)]
    width = x.size(2) + 2 * pw
    edges = [[zero for _ in range(width)] for _ in range(ph)]
    rows = edges + rows + edges
    weights = weight.flatten(1)
    has_room(len(rows), dh * (kh - 1) + 1)
    has_room(width, dw * (kw - 1) + 1)
    out = []
    for t in range(0, len(rows) - dh * (kh - 1), sh):
        windows = [
            torch.stack([rows[t + k // kw * dh][u + k % kw * dw] for k in unrolled(range(kh * kw))], 1)
            for u in range(0, width - dw * (kw - 1), sw)
        ]
        out.append(torch.stack([F.linear(window.flatten(), weights, bias) for window in windows], 1))
    return torch.stack(out, 1)


def of_image(x, weight, bias, stride, padding, dilation):
    """The convolution of a (channels, height, width)."""
    (sh, sw), (ph, pw), (dh, dw), kh = stride, padding, dilation, weight.size(2)
    if not is_fixed(x.size(2)):
        return convolved_by_place(x, weight, bias, stride, padding, dilation)
    if not is_fixed(x.size(1)):
        rows = [F.pad(row, (pw, pw)) for row in x.unbind(1)]
        zeros = [torch.zeros(weight.size(1), x.size(2) + 2 * pw) for _ in range(ph)]
        rows = zeros + rows + zeros
        has_room(len(rows), dh * (kh - 1) + 1)
        windows = [
            convolved(torch.stack([rows[t + a * dh] for a in unrolled(range(kh))], 1), weight, bias, (1, dw)).select(1, 0)
            for t in range(0, len(rows) - dh * (kh - 1), sh)
        ]
        return torch.stack([every(window, 1, sw) for window in windows], 1)
    if ph > 0 or pw > 0:
        x = F.pad(x, (pw, pw, ph, ph))
    return every(every(convolved(x, weight, bias, dilation), 1, sh), 2, sw)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if isinstance(padding, str):
        around = with_sides(input, padding, weight, pair(stride), pair(dilation), "constant")
        return conv2d(around, weight, bias, stride, 0, dilation, groups)
    step, around, gap = pair(stride), pair(padding), pair(dilation)
    if groups == 1:
        return each(input, 3, lambda x: of_image(x, weight, bias, step, around, gap))
    parts = unrolled(zip(input.chunk(groups, -3), weight.chunk(groups, 0)))
    out = torch.cat([each(part, 3, lambda x, w=own: of_image(x, w, None, step, around, gap)) for part, own in parts], -3)
    return out if bias is None else out + bias.reshape(-1, 1, 1)


def with_sides(input, padding, weight, stride, dilation, mode):
    """The image with what `padding` says around it: a number for each dimension, or a word."""
    if not isinstance(padding, str):
        return F.pad(input, (padding[1], padding[1], padding[0], padding[0]), mode)
    above, below = sides(padding, dilation[0] * (weight.size(2) - 1), stride[0])
    left, right = sides(padding, dilation[1] * (weight.size(3) - 1), stride[1])
    return F.pad(input, (left, right, above, below), mode)


def conv2d_module(self, input):
    if self.padding_mode == "zeros":
        return conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
    around = with_sides(input, self.padding, self.weight, self.stride, self.dilation, self.padding_mode)
    return conv2d(around, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


def spread(x, dim, step):
    """The input with `step - 1` zeros between its parts along `dim`, for a fixed number of parts."""
    if step == 1:
        return x
    parts = x.unbind(dim)
    zero = torch.zeros_like(parts[0])
    last = (len(parts) - 1) * step
    return torch.stack([parts[i // step] if i % step == 0 else zero for i in unrolled(range(last + 1))], dim)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The convolution of the image, with zeros between its rows and columns, by the weights turned around."""
    (sh, sw), (ph, pw), (mh, mw), (dh, dw) = pair(stride), pair(padding), pair(output_padding), pair(dilation)
    turned = torch.cat([part.transpose(0, 1) for part in unrolled(weight.chunk(groups, 0))]).flip((2, 3))
    before_h, before_w = dh * (weight.size(2) - 1) - ph, dw * (weight.size(3) - 1) - pw
    apart = spread(spread(input, -2, sh), -1, sw)
    around = F.pad(apart, (before_w, before_w + mw, before_h, before_h + mh))
    return conv2d(around, turned, bias, 1, 0, (dh, dw), groups)


def conv_transpose2d_module(self, input, output_size=None):
    if output_size is not None:
        refuse("a ConvTranspose2d with `output_size`", "give the module an `output_padding`")
    more = self.output_padding
    return conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """`torch.nn.functional.fold`: the sum of the windows, of which each column of the input has one, where they lie in an
    image."""
    (height, width), (kh, kw), (dh, dw) = pair(output_size), pair(kernel_size), pair(dilation)
    (ph, pw), (sh, sw) = pair(padding), pair(stride)
    rows = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    return each(input, 2, lambda x: folded(x, (rows, columns), (kh, kw), (dh, dw), (sh, sw), (ph, pw), (height, width)))


def folded(x, places, kernel, dilation, stride, padding, size):
    (rows, columns), (kh, kw), (dh, dw), (ph, pw), (height, width) = places, kernel, dilation, padding, size
    if x.size(1) != rows * columns or x.size(0) % (kh * kw) != 0:
        raise RuntimeError(f"{x.size(1)} windows of {x.size(0)} elements are folded into {rows} x {columns} of {kh} x {kw}")
    windows = x.reshape(-1, kh, kw, rows, columns)
    total = torch.zeros(windows.size(0), height + 2 * ph, width + 2 * pw)
    for a in unrolled(range(kh)):
        for b in unrolled(range(kw)):
            part = spread(spread(windows[:, a, b], 1, stride[0]), 2, stride[1])
            below, right = height + 2 * ph - a * dh - part.size(1), width + 2 * pw - b * dw - part.size(2)
            total = total + F.pad(part, (b * dw, right, a * dh, below))
    return total[:, ph : ph + height, pw : pw + width]
