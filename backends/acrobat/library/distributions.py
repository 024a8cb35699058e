"""Distributions of `torch.distributions`, without drawing from them: their probabilities, entropies and divergences."""

import math

import torch
import torch.nn.functional as F

from backends.acrobat.library.gamma import lgamma
from backends.acrobat.library.special import erfc, xlogy
from backends.acrobat.library.words import is_counts, refuse

SMALLEST = 1.1920928955078125e-07
"""The distance from 1 to the next number of float32, which probabilities keep from 0 and 1 before their logarithm is taken."""


def refuse_sampling():
    refuse("drawing from a distribution, as each call would give another result,", "take its `mode` or `mean`")


class Distribution:
    def sample(self, sample_shape=()):
        refuse_sampling()

    def rsample(self, sample_shape=()):
        refuse_sampling()

    def perplexity(self):
        return torch.exp(self.entropy())


def log_of_probs(probs):
    return torch.log(probs.clamp(SMALLEST, 1.0 - SMALLEST))


class Categorical(Distribution):
    """The last dimension of `probs` or `logits` has the classes."""

    def __init__(self, probs=None, logits=None, validate_args=None):
        if probs is not None:
            self.probs = probs / probs.sum(-1, True)
            self.logits = log_of_probs(self.probs)
        else:
            self.logits = torch.log_softmax(logits, -1)
            self.probs = torch.softmax(logits, -1)

    def log_prob(self, value):
        return chosen(self.logits, value)

    def entropy(self):
        return -(self.probs * self.logits.clamp(min=-3.4e38)).sum(-1)

    @property
    def mode(self):
        return self.probs.argmax(-1)


def chosen(logits, value):
    """The element of each row of `logits` that an int, or one for each row, says."""
    if logits.dim() == 1:
        return logits[value]
    if not is_counts(value):
        return logits.select(-1, value)
    return logits.gather(-1, value.unsqueeze(-1)).squeeze(-1)


class Bernoulli(Distribution):
    def __init__(self, probs=None, logits=None, validate_args=None):
        if probs is not None:
            self.probs = probs + torch.zeros(())
            self.logits = log_of_probs(self.probs) - log_of_probs(1.0 - self.probs)
        else:
            self.logits = logits + torch.zeros(())
            self.probs = torch.sigmoid(self.logits)

    def log_prob(self, value):
        return -F.binary_cross_entropy_with_logits(self.logits, value + torch.zeros_like(self.logits), reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    @property
    def mean(self):
        return self.probs

    @property
    def variance(self):
        return self.probs * (1.0 - self.probs)


def together(a, b):
    """Two tensors or numbers as tensors of the shape that they have together."""
    a, b = a + torch.zeros(()), b + torch.zeros(())
    return a + torch.zeros_like(b), b + torch.zeros_like(a)


class Normal(Distribution):
    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = together(loc, scale)

    def log_prob(self, value):
        apart = (value - self.loc) / self.scale
        return -0.5 * apart * apart - torch.log(self.scale) - 0.5 * math.log(2.0 * math.pi)

    def entropy(self):
        return torch.log(self.scale) + (0.5 + 0.5 * math.log(2.0 * math.pi))

    def cdf(self, value):
        return 0.5 * erfc((self.loc - value) / (self.scale * math.sqrt(2.0)))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale * self.scale


class Laplace(Distribution):
    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = together(loc, scale)

    def log_prob(self, value):
        return -torch.log(2.0 * self.scale) - (value - self.loc).abs() / self.scale

    def entropy(self):
        return 1.0 + torch.log(2.0 * self.scale)

    @property
    def mean(self):
        return self.loc


class Exponential(Distribution):
    def __init__(self, rate, validate_args=None):
        self.rate = rate + torch.zeros(())

    def log_prob(self, value):
        return torch.log(self.rate) - self.rate * value

    def entropy(self):
        return 1.0 - torch.log(self.rate)

    @property
    def mean(self):
        return 1.0 / self.rate


class Poisson(Distribution):
    def __init__(self, rate, validate_args=None):
        self.rate = rate + torch.zeros(())

    def log_prob(self, value):
        value = value + torch.zeros_like(self.rate)
        return xlogy(value, self.rate) - self.rate - lgamma(value + 1.0)

    @property
    def mean(self):
        return self.rate


class Gamma(Distribution):
    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = together(concentration, rate)

    def log_prob(self, value):
        value = value + torch.zeros_like(self.rate)
        scaled = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1.0, value)
        return scaled - self.rate * value - lgamma(self.concentration)

    @property
    def mean(self):
        return self.concentration / self.rate


class Beta(Distribution):
    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = together(concentration1, concentration0)

    def log_prob(self, value):
        a, b = self.concentration1, self.concentration0
        value = value + torch.zeros_like(a)
        return xlogy(a - 1.0, value) + xlogy(b - 1.0, 1.0 - value) + lgamma(a + b) - lgamma(a) - lgamma(b)

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)


def kl_divergence(p, q):
    """`torch.distributions.kl_divergence` of two distributions of one class."""
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        return p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits)) + (1.0 - p.probs) * (
            F.softplus(q.logits) - F.softplus(p.logits)
        )
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
        return 0.5 * (ratio * ratio + apart * apart - 1.0) - torch.log(ratio)
    return refuse("`kl_divergence` of these two distributions", "write out its formula")
