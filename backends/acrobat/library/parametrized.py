"""Parametrizations of weights (`torch.nn.utils.parametrizations`) in evaluation mode."""

import torch
import torch.nn.functional as F

from backends.acrobat.library.words import refuse, unrolled


def weight_norm(self, weight_g, weight_v):
    """The direction of each part of `weight_v` along a dimension, with the length that `weight_g` says."""
    square = weight_v * weight_v
    for d in unrolled(range(weight_v.dim())):
        if self.dim != d:
            square = square.sum(d, True)
    if self.dim == -1:
        return weight_v * (weight_g / torch.sqrt(square.sum()))
    return weight_v * (weight_g / torch.sqrt(square))


def spectral_norm(self, weight):
    """The weight divided by its largest singular value, as the vectors that training has left tell it."""
    if self.training:
        refuse("`spectral_norm` in training", "call .eval() on the model first")
    if weight.dim() == 1:
        return F.normalize(weight, dim=0, eps=self.eps)
    matrix = (weight if self.dim == 0 else weight.transpose(0, self.dim)).flatten(1)
    return weight / (self._u * (matrix @ self._v)).sum()
