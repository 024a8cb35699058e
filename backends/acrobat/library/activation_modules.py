"""The modules of activation functions: each calls the function of its name with its settings."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.words import refuse


def silu_module(self, input):
    return F.silu(input)


def leaky_relu_module(self, input):
    return F.leaky_relu(input, self.negative_slope)


def elu_module(self, input):
    return F.elu(input, self.alpha)


def softplus_module(self, input):
    return F.softplus(input, self.beta)


def prelu_module(self, input):
    if self.num_parameters == 1:
        slope = self.weight
    elif input.dim() > 1:
        slope = self.weight.reshape((self.num_parameters,) + (1,) * (input.dim() - 2))
    else:
        refuse("PReLU with several parameters, which takes a batch,")
    return torch.relu(input) - slope * torch.relu(-input)


def mish_module(self, input):
    return F.mish(input)


def relu6_module(self, input):
    return F.relu6(input)


def hardtanh_module(self, input):
    return F.hardtanh(input, self.min_val, self.max_val)


def softsign_module(self, input):
    return F.softsign(input)


def logsigmoid_module(self, input):
    return F.logsigmoid(input)


def selu_module(self, input):
    return F.selu(input)


def celu_module(self, input):
    return F.celu(input, self.alpha)


def rrelu_module(self, input):
    return F.rrelu(input, self.lower, self.upper, self.training)


def hardswish_module(self, input):
    return F.hardswish(input)


def hardsigmoid_module(self, input):
    return F.hardsigmoid(input)


def tanhshrink_module(self, input):
    return F.tanhshrink(input)


def softshrink_module(self, input):
    return F.softshrink(input, self.lambd)


def hardshrink_module(self, input):
    return F.hardshrink(input, self.lambd)


def threshold_module(self, input):
    return F.threshold(input, self.threshold, self.value)


def glu_module(self, input):
    return F.glu(input, self.dim)


def softmin_module(self, input):
    return F.softmin(input, self.dim)


def softmax2d_module(self, input):
    """Over the channels of (channels, height, width), or of a batch of such."""
    return torch.softmax(input, -3)
