"""Trigonometric and hyperbolic functions and their inverses. Comparisons here are masks also of one element (`words.less`), so
that no instance waits."""

import math

import torch

from backends.acrobat.library.elementwise import expm1, log1p
from backends.acrobat.library.words import less, same

EIGHTH = 0.4142135623730951
"""The tangent of pi / 8."""


def atan(input):
    """Of what is above tan(pi / 8) the angle from pi / 4, of what is above 1 that from pi / 2; else a polynomial, fitted to
    atan(x) / x with an error below 1e-8."""
    size = torch.maximum(input, -input)
    angle = angle_below_one(torch.where(less(1.0, size), 1.0 / size, size))
    angle = torch.where(less(1.0, size), math.pi / 2 - angle, angle)
    return torch.where(same(input, 0.0), input, torch.where(less(input, 0.0), -angle, angle))


def angle_below_one(size):
    """atan(size) for 0 <= size <= 1."""
    wide = less(EIGHTH, size)
    x = torch.where(wide, (size - 1.0) / (size + 1.0), size)
    z = x * x
    inner = 0.19999550075888 + z * (-0.14264232552549 + z * (0.10746298430721 - z * 0.06459376269305))
    return x * (1.0 + z * (z * inner - 0.33333331813419)) + torch.where(wide, math.pi / 4, 0.0)


def atan2(input, other):
    """The angle of the point (other, input), also of points on the axes, at infinity and in the origin."""
    y, x = input * torch.ones(()), other * torch.ones(())  # one may be a number
    height, width = torch.maximum(y, -y), torch.maximum(x, -x)
    low, high = torch.minimum(height, width), torch.maximum(height, width)
    ratio = torch.where(same(high, 0.0), 0.0, torch.where(same(low, math.inf), 1.0, low / high))
    angle = angle_below_one(ratio)
    angle = torch.where(less(width, height), math.pi / 2 - angle, angle)
    angle = torch.where(signbit(x), math.pi - angle, angle)
    return torch.where(signbit(y), -angle, angle)


def signbit(input):
    """The mask of the elements that are negative, or zero with a sign."""
    return less(torch.where(same(input, 0.0), 1.0 / input, input), 0.0)


def copysign(input, other):
    x, y = input * torch.ones(()), other * torch.ones(())
    size = torch.maximum(x, -x) + 0.0  # of zeros the maximum may be -0.0
    return torch.where(signbit(y), -size, size)


def asin(input):
    return atan(input / torch.sqrt((1.0 - input) * (1.0 + input)))


def acos(input):
    return 2.0 * atan(torch.sqrt((1.0 - input) / (1.0 + input)))


def asinh(input):
    size = torch.maximum(input, -input)
    small = torch.minimum(size, torch.full((), 1e4))
    square = small * small
    value = log1p(small + square / (1.0 + torch.sqrt(1.0 + square)))
    value = torch.where(less(1e4, size), torch.log(size) + math.log(2.0), value)
    return torch.where(same(input, 0.0), input, torch.where(less(input, 0.0), -value, value))


def acosh(input):
    above = torch.minimum(input, torch.full((), 1e4)) - 1.0
    value = log1p(above + torch.sqrt(above) * torch.sqrt(above + 2.0))
    return torch.where(less(1e4, input), torch.log(input) + math.log(2.0), value)


def atanh(input):
    return 0.5 * log1p(2.0 * input / (1.0 - input))


def sinh(input):
    return 0.5 * (expm1(input) - expm1(-input))


def cosh(input):
    return 0.5 * (torch.exp(input) + torch.exp(-input))


def tan(input):
    return torch.sin(input) / torch.cos(input)


def hypot(input, other):
    x, y = torch.maximum(input, -input), torch.maximum(other, -other)
    high, low = torch.maximum(x, y), torch.minimum(x, y)
    ratio = low / high
    return torch.where(same(high, math.inf) | same(low, 0.0), high, high * torch.sqrt(1.0 + ratio * ratio))


def sinc(input):
    x = input * math.pi
    return torch.where(same(x, 0.0), 1.0, torch.sin(x) / x)


def rad2deg(input):
    return input * (180.0 / math.pi)


def deg2rad(input):
    return input * (math.pi / 180.0)
