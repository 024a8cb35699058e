"""Norms, distances and other functions of torch that are made of primitive operations."""

import torch

from backends.acrobat.library.words import refuse, unrolled


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


def cdist(x1, x2, p=2.0, compute_mode=None):
    """`torch.cdist`. Differences are always computed as such, which is exact in any `compute_mode`."""
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


def variance(input, dim=None, unbiased=True, keepdim=False, correction=None):
    if isinstance(dim, bool):  # `x.var(False)` says whether it is unbiased
        return variance(input, None, dim, keepdim, correction)
    less = int(unbiased) if correction is None else correction
    if dim is None:
        if keepdim:
            refuse("`var` and `std` of all elements with `keepdim`", "reshape the result")
        centred = input - input.mean()
        return (centred * centred).sum() / (input.numel() - less)
    count = input.size(dim) if isinstance(dim, int) else 1
    if not isinstance(dim, int):
        for d in unrolled(dim):
            count = count * input.size(d)
    centred = input - input.mean(dim, True)
    return (centred * centred).sum(dim, keepdim) / (count - less)


def standard_deviation(input, dim=None, unbiased=True, keepdim=False, correction=None):
    return torch.sqrt(variance(input, dim, unbiased, keepdim, correction))


def bilinear(input1, input2, weight, bias=None):
    """`F.bilinear`: x1' W_k x2 for each matrix W_k of `weight`, where x1 and x2 are vectors, or the rows of two matrices."""
    parts = [((input1 @ weight[k]) * input2).sum(-1) for k in unrolled(range(weight.size(0)))]
    out = torch.stack(parts, -1)
    return out if bias is None else out + bias


def generate_square_subsequent_mask(sz):
    return torch.triu(torch.full((sz, sz), float("-inf")), diagonal=1)


def pdist(input, p=2.0):
    """The distances of all pairs of rows."""
    n = input.size(0)
    firsts = [i for i in range(n) for _ in range(i + 1, n)]
    seconds = [j for i in range(n) for j in range(i + 1, n)]
    return norm(input[firsts] - input[seconds], p, -1)
