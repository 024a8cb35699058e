"""Activation functions that are made of primitive operations."""

import torch

from backends.acrobat.library.words import has_dimensions, refuse


def absolute(input):
    if input.dtype == torch.int64:
        return torch.maximum(input, -input)
    return torch.maximum(input, -input) + 0.0  # of zeros the maximum may be -0.0


def clamp(input, min=None, max=None):
    if min is not None:
        input = torch.maximum(input, bound(input, min))
    if max is not None:
        input = torch.minimum(input, bound(input, max))
    return input


def bound(input, number):
    """A number as a tensor: one of ints if both it and the elements of `input` are ints. A tensor stays as it is."""
    if has_dimensions(number):
        return number
    if input.dtype == torch.int64 and isinstance(number, int):
        return torch.full((), number, dtype=torch.int64)
    return torch.full((), float(number))


def reciprocal(input):
    return 1.0 / input


def silu(input, inplace=False):
    return input * torch.sigmoid(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return torch.relu(input) - negative_slope * torch.relu(-input)


def prelu(input, weight):
    if weight.size(0) > 1:
        if input.dim() < 2:
            refuse("PReLU with several parameters, which takes a batch,")
        weight = weight.reshape((weight.size(0),) + (1,) * (input.dim() - 2))
    return torch.relu(input) - weight * torch.relu(-input)


def elu(input, alpha=1.0, inplace=False):
    return torch.relu(input) + alpha * (torch.exp(-torch.relu(-input)) - 1.0)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta x)) / beta, in the form that does not overflow."""
    scaled = input * beta
    return (torch.relu(scaled) + torch.log(1.0 + torch.exp(-absolute(scaled)))) / beta


def mish(input, inplace=False):
    return input * torch.tanh(softplus(input))


def relu6(input, inplace=False):
    return clamp(input, 0.0, 6.0)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return clamp(input, min_val, max_val)


def softsign(input):
    return input / (1.0 + absolute(input))


def logsigmoid(input):
    return -softplus(-input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if training:
        refuse("the random slopes of `rrelu` in training", "call .eval() on the model first")
    return leaky_relu(input, (lower + upper) / 2)
