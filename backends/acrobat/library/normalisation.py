"""Normalisation in evaluation mode."""

import torch

from backends.acrobat.library.words import refuse


def batch_norm(self, input):
    """With the statistics that training has left: (batch, channels), (batch, channels, time) or (channels, time)."""
    if self.training or self.running_mean is None:
        refuse("batch normalisation with the statistics of the batch", "call .eval() on the model first")
    scale = 1.0 / torch.sqrt(self.running_var + self.eps)
    if self.affine:
        scale = scale * self.weight
        shift = self.bias - self.running_mean * scale
    else:
        shift = -self.running_mean * scale
    if input.dim() == 3 or input.size(-1) != self.num_features:
        return input * scale.unsqueeze(1) + shift.unsqueeze(1)
    return input * scale + shift


def rms_norm(self, input):
    if len(self.normalized_shape) != 1:
        refuse("an RMSNorm over more than the last dimension")
    eps = 1.1920928955078125e-07 if self.eps is None else self.eps
    out = input / torch.sqrt((input * input).mean(-1, True) + eps)
    return out * self.weight if self.elementwise_affine else out
