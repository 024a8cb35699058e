"""Functions made of others."""

import torch

from backends.acrobat.library.words import unrolled


def mse_loss(input, target):
    difference = input - target
    return (difference * difference).mean()


def l1_loss(input, target):
    return torch.abs(input - target).mean()


def nll_loss(input, target):
    """Of the log-probabilities of one example, (classes) or (1, classes), and its class."""
    if input.dim() == 1:
        return -input[target]
    return -input[0][target[0]]


def cross_entropy(input, target):
    return nll_loss(torch.log_softmax(input, -1), target)


def norm(input, p=2, dim=None, keepdim=False):
    square = input * input
    return torch.sqrt(square.sum()) if dim is None else torch.sqrt(square.sum(dim, keepdim))


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / torch.clamp(norm(input, p, dim, True), eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    product = (x1 * x2).sum(dim)
    return product / (torch.clamp(norm(x1, 2, dim), eps) * torch.clamp(norm(x2, 2, dim), eps))


def logsumexp(input, dim, keepdim=False):
    highest = input.amax(dim, True)
    total = torch.exp(input - highest).sum(dim, True)
    out = torch.log(total) + highest
    return out if keepdim else out.squeeze(dim)


def outer(input, vec2):
    return input.unsqueeze(1) * vec2.unsqueeze(0)


def variance(input, dim, unbiased=True, keepdim=False):
    centred = input - input.mean(dim, True)
    return (centred * centred).sum(dim, keepdim) / (input.size(dim) - (1 if unbiased else 0))


def standard_deviation(input, dim, unbiased=True, keepdim=False):
    return torch.sqrt(variance(input, dim, unbiased, keepdim))


def bilinear_function(input1, input2, weight, bias=None):
    """x1' W_k x2 for each k: of vectors, or of as many rows each."""
    parts = [((input1 @ weight[k]) * input2).sum(-1) for k in unrolled(range(weight.size(0)))]
    out = torch.stack(parts, -1)
    return out if bias is None else out + bias


def bilinear(self, input1, input2):
    return bilinear_function(input1, input2, self.weight, self.bias)


def expand_as(input, other):
    return input + torch.zeros_like(other)


def addmm(input, mat1, mat2):
    return input + mat1 @ mat2


def flatten_module(self, input):
    return input.flatten(self.start_dim, self.end_dim)


def cosine_similarity_module(self, x1, x2):
    return cosine_similarity(x1, x2, self.dim, self.eps)
