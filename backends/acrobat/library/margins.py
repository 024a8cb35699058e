"""Losses that compare with a margin, and others of targets that are no classes; and the modules that call them."""

import math

import torch

from backends.acrobat.library.activations import logsigmoid, softplus
from backends.acrobat.library.functional import norm
from backends.acrobat.library.loss_functions import loss_of_class, reduced, weighted
from backends.acrobat.library.words import less, refuse, same


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    alike = torch.where(same(target, -1.0), 0.0, input)
    apart = torch.where(same(target, 1.0), 0.0, torch.relu(margin - input))
    return reduced(alike + apart, reduction, size_average, reduce)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    return reduced(torch.relu(margin - target * (input1 - input2)), reduction, size_average, reduce)


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    sizes = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / torch.sqrt(sizes)
    apart = torch.where(same(target, -1.0), torch.relu(cosine - margin), 0.0)
    return reduced(torch.where(same(target, 1.0), 1.0 - cosine, apart), reduction, size_average, reduce)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    near, far = norm(anchor - positive + eps, p, -1), norm(anchor - negative + eps, p, -1)
    if swap:
        far = torch.minimum(far, norm(positive - negative + eps, p, -1))
    return reduced(torch.relu(margin + near - far), reduction, size_average, reduce)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return reduced(softplus(-target * input), reduction, size_average, reduce)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    losses = -(target * logsigmoid(input) + (1.0 - target) * logsigmoid(-input))
    return reduced(weighted(losses, weight).mean(-1), reduction, size_average, reduce)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Of (classes) and one class, or of (examples, classes) and the class of each."""
    if weight is not None or p not in (1, 2) or input.dim() > 2:
        refuse("`multi_margin_loss` with weights of classes, other powers, or more dimensions")
    if input.dim() == 1:
        return margin_of_class(input, target.item(), p, margin)
    losses = torch.stack([margin_of_class(row, i, p, margin) for row, i in zip(input, target)])
    return reduced(losses, reduction, size_average, reduce)


def margin_of_class(row, i, p, margin):
    """The mean over the classes of what each exceeds class `i` by, less the margin; the class itself counts nothing."""
    excess = torch.relu(row + loss_of_class(row, i) + margin)
    own = max(margin, 0.0) ** p
    return ((excess if p == 1 else excess * excess).sum() - own) / row.size(0)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    losses = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(2.0 * math.pi * target)
        losses = losses + torch.where(less(1.0, target), stirling, 0.0)
    return reduced(losses, reduction, size_average, reduce)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """`var` has the shape of the input, or lacks its last dimension, or has 1 there."""
    if var.dim() < input.dim():
        var = var.unsqueeze(-1)
    spread = torch.maximum(var, torch.full((), float(eps)))
    difference = input - target
    losses = 0.5 * (torch.log(spread) + difference * difference / spread)
    return reduced(losses + 0.5 * math.log(2.0 * math.pi) if full else losses, reduction)
