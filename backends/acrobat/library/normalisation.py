"""Normalisation in evaluation mode."""

import torch

from backends.acrobat.library.words import is_fixed, refuse, unrolled


def batch_norm_module(self, input):
    """`nn.BatchNorm1d` and `nn.BatchNorm2d` with their running statistics, of (batch, channels), (batch, channels, time),
    (channels, time) or (batch, channels, height, width)."""
    if input.dim() == 2 and input.size(-1) != self.num_features:
        return batch_norm_module(self, input.unsqueeze(0)).squeeze(0)
    mean, var = self.running_mean, self.running_var
    return batch_norm(input, mean, var, self.weight, self.bias, self.training, eps=self.eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    if len(normalized_shape) != 1 or normalized_shape[0] != input.size(-1):
        refuse("an RMSNorm over other than the last dimension", "name its extent in a tuple: `(n,)`")
    small = 1.1920928955078125e-07 if eps is None else eps
    out = input / torch.sqrt((input * input).mean(-1, True) + small)
    return out if weight is None else out * weight


def layer_norm(self, input):
    """`nn.LayerNorm` over several dimensions, or without a weight or a bias; any other one is a single operation of the IR."""
    dims = len(self.normalized_shape)
    flat = input if dims == 1 else input.flatten(-dims)
    centred = flat - flat.mean(-1, True)
    out = centred / torch.sqrt((centred * centred).mean(-1, True) + self.eps)
    if dims > 1:
        out = out.reshape(input.shape)
    if self.weight is not None:
        out = out * self.weight
    return out if self.bias is None else out + self.bias


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Of (batch, channels, ...). Extents behind the channels may vary: these are reduced first, then channels of a group."""
    if input.dim() < 2:
        refuse("GroupNorm of a tensor without a batch", "unsqueeze it")
    if is_fixed(input.size(-1)) and is_fixed(input.size(-2)):
        groups = input.reshape(input.size(0), num_groups, -1)
        centred = groups - groups.mean(-1, True)
        out = (centred / torch.sqrt((centred * centred).mean(-1, True) + eps)).reshape(input.shape)
    else:
        centred = input - mean_of_groups(input, num_groups)
        out = centred / torch.sqrt(mean_of_groups(centred * centred, num_groups) + eps)
    shape = (1, input.size(1)) + (1,) * (input.dim() - 2)
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def mean_of_groups(input, num_groups):
    """For each channel the mean of its group, of shape (batch, channels, 1, ...)."""
    mean = input
    for dim in unrolled(range(2, input.dim())):
        mean = mean.mean(dim, True)
    batch, channels = input.size(0), input.size(1)
    groups = mean.reshape(batch, num_groups, channels // num_groups).mean(-1, True)
    spread = groups.expand(batch, num_groups, channels // num_groups)
    return spread.reshape((batch, channels) + (1,) * (input.dim() - 2))


def instance_norm_module(self, input):
    """`nn.InstanceNorm1d` and `nn.InstanceNorm2d` of (channels, ...), or of a batch of such."""
    if input.dim() == (2 if isinstance(self, torch.nn.InstanceNorm1d) else 3):
        return instance_norm_module(self, input.unsqueeze(0)).squeeze(0)
    if self.track_running_stats:
        return batch_norm_module(self, input)
    return group_norm(input, self.num_features, self.weight, self.bias, self.eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    if not use_input_stats:
        refuse("instance normalisation with running statistics")
    if input.dim() < 3:
        refuse("`instance_norm` of a tensor without a batch", "unsqueeze it")
    return group_norm(input, input.size(1), weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Each channel of (batch, channels, ...) divided by a power of the mean square of so many channels around it."""
    if input.dim() < 3:
        refuse("`local_response_norm` of a tensor without a batch", "unsqueeze it")
    parts = (input * input).unbind(1)
    sums = [sum(parts[max(c - size // 2, 0) : c + (size - 1) // 2 + 1]) for c in unrolled(range(len(parts)))]
    return input / (k + alpha / size * torch.stack(sums, 1)) ** beta


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training or running_mean is None:
        refuse("batch normalisation with the statistics of the batch", "call .eval() on the model first")
    scale = 1.0 / torch.sqrt(running_var + eps)
    if weight is not None:
        scale = scale * weight
    shift = -running_mean * scale
    if bias is not None:
        shift = shift + bias
    if input.dim() > 2:
        shape = (-1,) + (1,) * (input.dim() - 2)
        return input * scale.reshape(shape) + shift.reshape(shape)
    return input * scale + shift
