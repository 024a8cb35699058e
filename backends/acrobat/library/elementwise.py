"""Element-wise functions made of primitive operations. Results follow PyTorch's for zeros, infinities and NaN."""

import math

import torch

from backends.acrobat.library.words import at_most, less, refuse, same, unrolled

HIGHEST = 3.4028234663852886e38
"""The highest finite number of float32."""


def power(input, exponent):
    """`input ** exponent` of tensors: exp(exponent log |input|), negative if the exponent of a negative number is odd."""
    exponent = exponent + torch.zeros(())
    size = torch.exp(exponent * torch.log(torch.maximum(input, -input)))
    odd = exponent - 2.0 * torch.floor(exponent * 0.5)
    signed = torch.where(same(odd, 1.0), -size, torch.where(same(odd, 0.0), size, float("nan")))
    return torch.where(same(exponent, 0.0), 1.0, torch.where(less(input, 0.0), signed, size))


def sign(input):
    if input.dtype == torch.int64:
        return input.clamp(-1, 1)
    return less(0.0, input).float() - less(input, 0.0).float()


def ceil(input):
    return -torch.floor(-input)


def trunc(input):
    return torch.where(less(input, 0.0), -torch.floor(-input), torch.floor(input))


def rounded(input):
    """`torch.round`: the nearest whole number, and of two that are equally near the even one."""
    low = torch.floor(input)
    rest = input - low
    odd = low - 2.0 * torch.floor(low * 0.5)
    return low + torch.where(same(rest, 0.5), odd, torch.where(less(0.5, rest), 1.0, 0.0))


def frac(input):
    return input - trunc(input)


def floor_divide(input, other):
    x, y = input + torch.zeros(()), other + torch.zeros(())  # one may be a number
    rest = _remains(x, y)
    rounded = torch.floor((x - rest) / y + 0.5)
    return torch.where(same(y, 0.0), x / y, _of_sign(y, rest, rounded - 1.0, rounded))


def quotient(input, other, rounding_mode):
    """`torch.div` with a `rounding_mode`."""
    if rounding_mode is None:
        return input / other
    if rounding_mode == "floor":
        return input // other
    if input.dtype == torch.int64:
        refuse('`div` of ints with `rounding_mode="trunc"`', "divide floats so, and write `.long()` behind it")
    return trunc(input / other)


def remainder(input, other):
    x, y = input + torch.zeros(()), other + torch.zeros(())  # one may be a number
    rest = _remains(x, y)
    return _of_sign(y, rest, rest + y, rest)


def fmod(input, other):
    return _remains(input + torch.zeros(()), other + torch.zeros(()))


def _of_sign(y, rest, moved, kept):
    """`moved` where `rest` and `y` have different signs, else `kept`."""
    return torch.where(less(y, 0.0), torch.where(less(0.0, rest), moved, kept), torch.where(less(rest, 0.0), moved, kept))


def _remains(x, y):
    """What remains of `x` when multiples of `y` are taken off, with the sign of `x`, as C's `fmod`: exact where the quotient is
    below 2 ** 46. Taking off multiples of `y * 2 ** 23` first leaves a quotient that float32 holds."""
    size, unit = torch.maximum(x, -x), torch.maximum(y, -y)
    first = torch.where(less(unit, 4e31), _less_multiples(size, unit * 8388608.0), size)
    rest = _less_multiples(first, unit)
    rest = torch.where(same(unit, math.inf), size - (size - size), rest)  # all of a finite number, and none of infinity
    return torch.where(less(x, 0.0), -rest, rest)


def _less_multiples(size, unit):
    """`size` without the multiples of `unit` in it, exact where there are fewer than 2 ** 24. Both factors of the product that
    is taken off are divided into a part of 12 bits and a rest, so that no product of parts is rounded."""
    count = torch.floor(size / unit)
    many = torch.floor(count * (1.0 / 4096.0)) * 4096.0
    few = count - many
    part = torch.where(less(unit, 1.0), unit, unit * (1.0 / 8192.0))  # so that 4097 times as much is no infinity
    scaled = part * 4097.0
    high = scaled - (scaled - part)
    high = torch.where(less(unit, 1.0), high, high * 8192.0)
    low = unit - high
    rest = size - many * high - many * low - few * high - few * low
    rest = torch.where(less(rest, 0.0), rest + unit, rest)  # the quotient was rounded up to the next whole number
    return torch.where(at_most(unit, rest), rest - unit, rest)


def log1p(input):
    near = input * (1.0 - input * (0.5 - input / 3.0))
    return torch.where(less(torch.maximum(input, -input), 0.005), near, torch.log(1.0 + input))


def expm1(input):
    near = input * (1.0 + input * (0.5 + input / 6.0))
    return torch.where(less(torch.maximum(input, -input), 0.01), near, torch.exp(input) - 1.0)


def log2(input):
    return torch.log(input) * 1.4426950408889634


def log10(input):
    return torch.log(input) * 0.4342944819032518


def exp2(input):
    return torch.exp(input * 0.6931471805599453)


def logaddexp(input, other):
    high, low = torch.maximum(input, other), torch.minimum(input, other)
    return torch.where(same(high, low), high + 0.6931471805599453, high + log1p(torch.exp(low - high)))


def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    posinf = HIGHEST if posinf is None else posinf
    neginf = -HIGHEST if neginf is None else neginf
    finite = torch.where(same(input, math.inf), posinf, torch.where(same(input, -math.inf), neginf, input))
    return torch.where(torch.isnan(input), nan, finite)


def clamp_min(input, min):
    return torch.maximum(input, torch.full((), float(min)))


def clamp_max(input, max):
    return torch.minimum(input, torch.full((), float(max)))


def lerp(input, end, weight):
    return input + weight * (end - input)


def addcmul(input, tensor1, tensor2, value=1.0):
    return input + value * (tensor1 * tensor2)


def addcdiv(input, tensor1, tensor2, value=1.0):
    return input + value * (tensor1 / tensor2)


def hardsigmoid(input, inplace=False):
    return torch.minimum(torch.relu(input + 3.0), torch.full((), 6.0)) / 6.0


def hardswish(input, inplace=False):
    return input * hardsigmoid(input)


def selu(input, inplace=False):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * (torch.relu(input) + alpha * expm1(-torch.relu(-input)))


def celu(input, alpha=1.0, inplace=False):
    return torch.relu(input) + alpha * expm1(-torch.relu(-input) / alpha)


def tanhshrink(input):
    return input - torch.tanh(input)


def softshrink(input, lambd=0.5):
    return torch.relu(input - lambd) - torch.relu(-input - lambd)


def hardshrink(input, lambd=0.5):
    return torch.where(at_most(torch.maximum(input, -input), float(lambd)), 0.0, input)


def threshold(input, threshold, value, inplace=False):
    return torch.where(less(float(threshold), input) | torch.isnan(input), input, float(value))


def glu(input, dim=-1):
    a, b = input.chunk(2, dim)
    return a * torch.sigmoid(b)


def softmin(input, dim):
    return torch.softmax(-input, dim)


def refuse_dropout(module):
    """Refuses a module that would drop elements between its parts."""
    if module.dropout > 0 and module.training:
        refuse("dropout in training", "call .eval() on the model first")


def dropout(input, p=0.5, training=True, inplace=False):
    if training and p > 0:
        refuse("dropout in training", "pass `training=self.training` and compile the module in evaluation mode")
    return input


def dropout_in_training(input, p=0.5, training=False, inplace=False):
    """The forms of dropout that drop nothing unless they are told that they are in training."""
    return dropout(input, p, training)


def copied(input, src, non_blocking=False):
    """What `input` is after `input.copy_(src)`."""
    return src.expand_as(input).clone()


def unchanged(input):
    return input


def fill(input, value):
    return torch.full_like(input, value)


def zero(input):
    return torch.zeros_like(input)


def erf(input):
    """Computed from gelu(y) = y / 2 (1 + erf(y / sqrt 2)) with y = sqrt(2) x; near zero it is 2 x / sqrt(pi)."""
    y = torch.minimum(torch.maximum(input * 1.4142135623730951, torch.full((), -9.0)), torch.full((), 9.0))
    return torch.where(
        less(torch.maximum(input, -input), 0.001), input * 1.1283791670955126, 2.0 * torch.nn.functional.gelu(y) / y - 1.0
    )


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """`torch.isclose`: a mask. Infinities are close to themselves only, and NaN to none but, with `equal_nan`, NaN."""
    apart = input - other
    apart = torch.maximum(apart, -apart)
    close = same(input, other) | (at_most(apart, atol + rtol * torch.maximum(other, -other)) & torch.isfinite(apart))
    return close | (torch.isnan(input) & torch.isnan(other)) if equal_nan else close


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    close = isclose(input, other, rtol, atol, equal_nan)
    return input.numel() == 0 or bool(close.all())


def equal(input, other):
    """`torch.equal`: whether two tensors have the same shape and the same elements. The instance waits for these."""
    if input.dim() != other.dim():
        return False
    for d in unrolled(range(input.dim())):
        if input.size(d) != other.size(d):
            return False
    return input.numel() == 0 or bool(same(input, other).all())
