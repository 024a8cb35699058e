"""The logarithm of the gamma function and its derivative: by Lanczos' and by the asymptotic series above 1/2, by reflection
below (Abramowitz and Stegun 1964, 6.1 and 6.3; the coefficients are those of Lanczos 1964 for g = 5)."""

import math

import torch

from backends.acrobat.library.words import less, same

LANCZOS = (
    76.18009172947146,
    -86.50532032941677,
    24.01409824083091,
    -1.231739572450155,
    0.1208650973866179e-2,
    -0.5395239384953e-5,
)


def lgamma(input):
    x = torch.where(less(input, 0.5), 1.0 - input, input)
    series = torch.full_like(x, 1.000000000190015)
    for k in (0, 1, 2, 3, 4, 5):
        series = series + LANCZOS[k] / (x + float(k))
    end = x + 4.5
    above = (x - 0.5) * (torch.log(end) - 1.0) - 5.0 + torch.log(2.5066282746310005 * series)
    rest = input - torch.floor(input)
    below = math.log(math.pi) - torch.log(torch.sin(math.pi * torch.minimum(rest, 1.0 - rest))) - above
    value = torch.where(less(input, 0.5), below, above)
    return torch.where(same(torch.maximum(input, -input), math.inf), math.inf, value)


def digamma(input):
    x = torch.where(less(input, 0.5), 1.0 - input, input)
    steps = torch.zeros_like(x)
    for k in (0, 1, 2, 3, 4, 5):
        steps = steps + 1.0 / (x + float(k))
    far = x + 6.0
    power = 1.0 / (far * far)
    above = torch.log(far) - 0.5 / far - power * (1.0 / 12.0 - power * (1.0 / 120.0 - power / 252.0)) - steps
    rest = input - torch.floor(input)
    slope = math.pi * torch.cos(math.pi * rest) / torch.sin(math.pi * rest)
    value = torch.where(less(input, 0.5), above - slope, above)
    pole = torch.where(less(input, 0.0), math.nan, torch.where(less(0.0, 1.0 / input), -math.inf, math.inf))
    whole = same(rest, 0.0) & less(input, 0.5)
    return torch.where(whole, pole, value)
