"""Losses, norms and other functions of torch that are made of primitive operations."""

import torch

from backends.acrobat.library.words import refuse, unrolled


def reduced(losses, reduction):
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        refuse("a `reduction` but mean, sum and none")
    return losses.mean()


def mse_loss(input, target, reduction="mean"):
    difference = input - target
    return reduced(difference * difference, reduction)


def l1_loss(input, target, reduction="mean"):
    return reduced(torch.abs(input - target), reduction)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    size = torch.abs(input - target)
    return reduced(torch.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0):
    size = torch.abs(input - target)
    return reduced(torch.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


def binary_cross_entropy(input, target, reduction="mean"):
    one = torch.maximum(torch.log(input), torch.full((), -100.0))
    other = torch.maximum(torch.log(1.0 - input), torch.full((), -100.0))
    return reduced(-(target * one + (1.0 - target) * other), reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    return reduced(torch.relu(input) - input * target + torch.log(1.0 + torch.exp(-torch.abs(input))), reduction)


def kl_div(input, target, reduction="mean", log_target=False):
    if log_target:
        return reduced(torch.exp(target) * (target - input), reduction)
    return reduced(torch.where(target > 0.0, target * (torch.log(target) - input), 0.0), reduction)


def loss_of_class(row, i):
    if i < 0:
        raise IndexError(f"class {i}: a loss takes classes from 0 on here, leave out examples that are to be ignored")
    return -row[i]


def nll_loss(input, target, reduction="mean", ignore_index=-100):
    """`F.nll_loss` of log-probabilities (classes) and one class, or of (examples, classes) and the class of each example."""
    if target.dtype == torch.float32:
        refuse("a loss of the probabilities of classes")
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


def cross_entropy(input, target, reduction="mean", label_smoothing=0.0, ignore_index=-100):
    scores = torch.log_softmax(input, -1)
    if label_smoothing == 0.0:
        return nll_loss(scores, target, reduction, ignore_index)
    if ignore_index != -100:
        refuse("`label_smoothing` with `ignore_index`")
    rows = (1.0 - label_smoothing) * nll_loss(scores, target, "none") - label_smoothing * scores.mean(-1)
    return reduced(rows, reduction)


def norm(input, p=2, dim=None, keepdim=False):
    if p == 1:
        size = torch.abs(input)
        return size.sum() if dim is None else size.sum(dim, keepdim)
    if p == float("inf"):
        size = torch.abs(input)
        return size.max() if dim is None else size.amax(dim, keepdim)
    if p in (2, "fro", None):
        square = input * input
        return torch.sqrt(square.sum()) if dim is None else torch.sqrt(square.sum(dim, keepdim))
    if not isinstance(p, (int, float)) or p <= 0:
        refuse("a norm but those of positive numbers and infinity")
    power = torch.abs(input) ** p
    return (power.sum() if dim is None else power.sum(dim, keepdim)) ** (1.0 / p)


def vector_norm(x, ord=2, dim=None, keepdim=False):
    return norm(x, ord, dim, keepdim)


def linalg_norm(A, ord=None, dim=None, keepdim=False):
    """`torch.linalg.norm`, which for two dimensions and an `ord` is a norm of matrices."""
    if ord is not None and (A.dim() == 2 and dim is None or isinstance(dim, tuple)):
        refuse("`torch.linalg.norm` of a matrix with an `ord`")
    return norm(A, 2 if ord is None else ord, dim, keepdim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return norm(x1 - x2 + eps, p, -1, keepdim)


def cdist(x1, x2, p=2.0):
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def distance(input, other, p=2):
    return norm(input - other, p)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / torch.clamp(norm(input, p, dim, True), eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    product = (x1 * x2).sum(dim)
    return product / (torch.clamp(norm(x1, 2, dim), eps) * torch.clamp(norm(x2, 2, dim), eps))


def logsumexp(input, dim, keepdim=False):
    highest = input.amax(dim, True)
    highest = torch.where(torch.isfinite(highest), highest, 0.0)
    total = torch.exp(input - highest).sum(dim, True)
    out = torch.log(total) + highest
    if keepdim:
        return out
    return out.sum(dim) if isinstance(dim, (tuple, list)) else out.squeeze(dim)  # of one element each


def outer(input, vec2):
    if input.dim() != 1 or vec2.dim() != 1:
        refuse("`outer` of tensors that are no vectors", "write the product with `unsqueeze`")
    return input.unsqueeze(1) * vec2.unsqueeze(0)


def variance(input, dim=None, unbiased=True, keepdim=False, correction=None):
    less = int(unbiased) if correction is None else correction
    if dim is None:
        if keepdim:
            refuse("`var` and `std` of all elements with `keepdim`", "reshape the result")
        centred = input - input.mean()
        return (centred * centred).sum() / (input.numel() - less)
    count = 1
    for d in (dim,) if isinstance(dim, int) else dim:
        count = count * input.size(d)
    centred = input - input.mean(dim, True)
    return (centred * centred).sum(dim, keepdim) / (count - less)


def standard_deviation(input, dim=None, unbiased=True, keepdim=False, correction=None):
    return torch.sqrt(variance(input, dim, unbiased, keepdim, correction))


def bilinear_function(input1, input2, weight, bias=None):
    """`F.bilinear`: x1' W_k x2 for each matrix W_k of `weight`, where x1 and x2 are vectors, or the rows of two matrices."""
    parts = [((input1 @ weight[k]) * input2).sum(-1) for k in unrolled(range(weight.size(0)))]
    out = torch.stack(parts, -1)
    return out if bias is None else out + bias


def bilinear(self, input1, input2):
    return bilinear_function(input1, input2, self.weight, self.bias)


def addmm(input, mat1, mat2):
    return input + mat1 @ mat2


def flatten_module(self, input):
    return input.flatten(self.start_dim, self.end_dim)


def cosine_similarity_module(self, x1, x2):
    return cosine_similarity(x1, x2, self.dim, self.eps)


def generate_square_subsequent_mask(sz):
    return torch.triu(torch.full((sz, sz), float("-inf")), diagonal=1)
