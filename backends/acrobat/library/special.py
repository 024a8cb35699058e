"""Element-wise functions of probability and logic: error functions, logits, steps, and what they do with NaN and infinity."""

import math

import torch

from backends.acrobat.library.activations import clamp
from backends.acrobat.library.elementwise import logaddexp
from backends.acrobat.library.words import less, same

TAIL = (
    -1.265447997,
    0.9986327833,
    0.3866404125,
    0.03460279814,
    0.0012675918,
    -0.08028044229,
    -0.6962518868,
    1.156733748,
    -0.680827174,
    0.144930213,
)
"""A polynomial in t = 1 / (1 + x / 2), fitted to log(erfc(x) / t) + x * x for 0 <= x <= 10 with an error below 5e-8."""


def erfc(input):
    """1 - erf, also where that is close to 0."""
    size = torch.maximum(input, -input)
    t = 1.0 / (1.0 + 0.5 * size)
    power = TAIL[9] * t
    for k in (8, 7, 6, 5, 4, 3, 2, 1):
        power = (power + TAIL[k]) * t
    tail = t * torch.exp(power + TAIL[0] - size * size)
    return torch.where(less(input, 0.0), 2.0 - tail, tail)


def logit(input, eps=None):
    x = input if eps is None else clamp(input, eps, 1.0 - eps)
    return torch.log(x / (1.0 - x))


def xlogy(input, other):
    x, y = input * torch.ones(()), other * torch.ones(())  # one may be a number
    return torch.where(torch.isnan(y), y, torch.where(same(x, 0.0), 0.0, x * torch.log(y)))


def heaviside(input, values):
    return torch.where(same(input, 0.0), values, less(0.0, input).float())


def fmax(input, other):
    return torch.where(torch.isnan(input), other, torch.where(torch.isnan(other), input, torch.maximum(input, other)))


def fmin(input, other):
    return torch.where(torch.isnan(input), other, torch.where(torch.isnan(other), input, torch.minimum(input, other)))


def isposinf(input):
    return same(input, math.inf)


def isneginf(input):
    return same(input, -math.inf)


def logaddexp2(input, other):
    return logaddexp(input * math.log(2.0), other * math.log(2.0)) * (1.0 / math.log(2.0))


def rsub(input, other, alpha=1):
    return other - alpha * input
