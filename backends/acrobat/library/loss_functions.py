"""Losses: functions of predictions and targets."""

import torch

from backends.acrobat.library.words import less, refuse


def reduced(losses, reduction, size_average=None, reduce=None):
    """The losses, their sum or their mean; `size_average` and `reduce` are the older way to say which of these."""
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return losses
        return losses.sum() if size_average is not None and not size_average else losses.mean()
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        refuse("a `reduction` but mean, sum and none")
    return losses.mean()


def weighted(losses, weight):
    return losses if weight is None else losses * weight


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is not None:
        refuse("`mse_loss` with weights of elements", "multiply the losses of `reduction='none'`")
    difference = input - target
    return reduced(difference * difference, reduction, size_average, reduce)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is not None:
        refuse("`l1_loss` with weights of elements", "multiply the losses of `reduction='none'`")
    return reduced(torch.abs(input - target), reduction, size_average, reduce)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    size = torch.abs(input - target)
    losses = size if beta == 0 else torch.where(less(size, float(beta)), 0.5 * size * size / beta, size - 0.5 * beta)
    return reduced(losses, reduction, size_average, reduce)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    if weight is not None:
        refuse("`huber_loss` with weights of elements", "multiply the losses of `reduction='none'`")
    size = torch.abs(input - target)
    return reduced(torch.where(less(size, float(delta)), 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    one = torch.maximum(torch.log(input), torch.full((), -100.0))
    other = torch.maximum(torch.log(1.0 - input), torch.full((), -100.0))
    return reduced(weighted(-(target * one + (1.0 - target) * other), weight), reduction, size_average, reduce)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    rest = torch.log(1.0 + torch.exp(-torch.abs(input)))
    if pos_weight is None:
        losses = torch.relu(input) - input * target + rest
    else:
        losses = (1.0 - target) * input + (1.0 + (pos_weight - 1.0) * target) * (rest + torch.relu(-input))
    return reduced(weighted(losses, weight), reduction, size_average, reduce)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if log_target:
        losses = torch.exp(target) * (target - input)
    else:
        losses = torch.where(less(0.0, target), target * (torch.log(target) - input), 0.0)
    if reduction == "batchmean" and size_average is None and reduce is None:
        return losses.sum() / losses.size(0)
    return reduced(losses, reduction, size_average, reduce)


def loss_of_class(row, i):
    if i < 0:
        raise IndexError(f"class {i}: a loss takes classes from 0 on here, leave out examples that are to be ignored")
    return -row[i]


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """`F.nll_loss` of log-probabilities (classes) and one class, or of (examples, classes) and the class of each example."""
    if target.dtype == torch.float32:
        refuse("a loss of the probabilities of classes", "`cross_entropy` takes these")
    if size_average is not None or reduce is not None:
        refuse("a loss with `size_average` or `reduce`", "write `reduction`")
    if weight is not None:
        return nll_with_weights(input, target, weight, reduction, ignore_index)
    if ignore_index >= 0:
        return nll_of_some(input, target, reduction, ignore_index)
    if input.dim() == 1:
        return loss_of_class(input, target.item())
    if input.dim() != 2:
        refuse("a loss of classes of more dimensions")
    return reduced(torch.stack([loss_of_class(row, i) for row, i in zip(input, target)]), reduction)


def nll_of_some(input, target, reduction, ignore_index):
    """`F.nll_loss` of the examples whose class is not `ignore_index`."""
    if input.dim() == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
        reduction = "sum" if reduction == "none" else reduction
    if input.dim() != 2:
        refuse("a loss of classes of more dimensions")
    losses = torch.stack([loss_of_class(row, i) if i != ignore_index else torch.zeros(()) for row, i in zip(input, target)])
    if reduction != "mean":
        return reduced(losses, reduction)
    return losses.sum() / sum([1 if i != ignore_index else 0 for i in target])


def nll_with_weights(input, target, weight, reduction, ignore_index):
    """`F.nll_loss` in which each class counts as much as `weight` says, also in the mean."""
    if input.dim() == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
        if reduction == "none":
            reduction = "sum"
    if input.dim() != 2:
        refuse("a loss of classes of more dimensions")
    shares = torch.stack([weight[i] if i != ignore_index else torch.zeros(()) for i in target])
    losses = [loss_of_class(row, i) if i != ignore_index else torch.zeros(()) for row, i in zip(input, target)]
    losses = torch.stack(losses) * shares
    return losses.sum() / shares.sum() if reduction == "mean" else reduced(losses, reduction)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """`F.cross_entropy` of (classes) or (examples, classes), and of classes, or of their probabilities, which have one shape
    with the input."""
    scores = torch.log_softmax(input, -1)
    if target.dtype == torch.float32:
        return cross_entropy_of_shares(scores, target, weight, reduction, label_smoothing)
    if label_smoothing == 0.0:
        return nll_loss(scores, target, weight, size_average, ignore_index, reduce, reduction)
    if ignore_index != -100 or weight is not None or size_average is not None or reduce is not None:
        refuse("`label_smoothing` with `ignore_index`, `weight`, `size_average` or `reduce`")
    rows = (1.0 - label_smoothing) * nll_loss(scores, target, reduction="none") - label_smoothing * scores.mean(-1)
    return reduced(rows, reduction)


def cross_entropy_of_shares(scores, target, weight, reduction, label_smoothing):
    if scores.dim() > 2 or target.dim() != scores.dim():
        refuse("a loss of classes of more dimensions")
    shares = target if label_smoothing == 0.0 else target * (1.0 - label_smoothing) + label_smoothing / scores.size(-1)
    return reduced(-weighted(scores * shares, weight).sum(-1), reduction)
