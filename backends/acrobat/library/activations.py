"""Activation functions that are made of primitive operations, and the modules that apply them."""

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


def silu_module(self, input):
    return silu(input)


def leaky_relu_module(self, input):
    return leaky_relu(input, self.negative_slope)


def elu_module(self, input):
    return elu(input, self.alpha)


def softplus_module(self, input):
    return softplus(input, self.beta)


def prelu_module(self, input):
    if self.num_parameters == 1:
        slope = self.weight
    elif input.dim() > 1:
        slope = self.weight.reshape((self.num_parameters,) + (1,) * (input.dim() - 2))
    else:
        refuse("PReLU with several parameters, which takes a batch,")
    return torch.relu(input) - slope * torch.relu(-input)


def mish_module(self, input):
    return mish(input)


def relu6_module(self, input):
    return relu6(input)


def hardtanh_module(self, input):
    return hardtanh(input, self.min_val, self.max_val)


def softsign_module(self, input):
    return softsign(input)


def logsigmoid_module(self, input):
    return logsigmoid(input)
