"""Products of matrices and vectors that are made of others."""

import torch

from backends.acrobat.library.words import is_fixed, refuse, unrolled


def scaled(number, product):
    return product if number == 1 else number * product


def added(input, product, beta, alpha):
    """`beta * input + alpha * product`, in which `input` does not count if `beta` is 0."""
    if beta == 0:
        return scaled(alpha, product)
    return scaled(beta, input) + scaled(alpha, product)


def addmm(input, mat1, mat2, beta=1, alpha=1):
    return added(input, mat1 @ mat2, beta, alpha)


def addmv(input, mat, vec, beta=1, alpha=1):
    return added(input, mat @ vec, beta, alpha)


def addr(input, vec1, vec2, beta=1, alpha=1):
    return added(input, outer(vec1, vec2), beta, alpha)


def baddbmm(input, batch1, batch2, beta=1, alpha=1):
    return added(input, batch1 @ batch2, beta, alpha)


def addbmm(input, batch1, batch2, beta=1, alpha=1):
    return added(input, (batch1 @ batch2).sum(0), beta, alpha)


def outer(input, vec2):
    if input.dim() != 1 or vec2.dim() != 1:
        refuse("`outer` of tensors that are no vectors", "write the product with `unsqueeze`")
    return input.unsqueeze(1) * vec2.unsqueeze(0)


def vdot(input, other):
    return torch.dot(input, other)


def inner(input, other):
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if other.dim() == 1:
        return input @ other
    if other.dim() > 2 or input.dim() > 2:
        refuse("`inner` of tensors of more than two dimensions", "write an `einsum`")
    return input @ other.transpose(-1, -2)


def vecdot(x, y, dim=-1):
    return (x * y).sum(dim)


def kron(input, other):
    """The Kronecker product of two vectors, or of two matrices."""
    if input.dim() != other.dim() or input.dim() not in (1, 2):
        refuse("`kron` but of two vectors or two matrices")
    if input.dim() == 1:
        return outer(input, other).flatten()
    parts = input.unsqueeze(1).unsqueeze(3) * other.unsqueeze(0).unsqueeze(2)
    return parts.reshape(input.size(0) * other.size(0), input.size(1) * other.size(1))


def multi_dot(tensors):
    product = tensors[0]
    for factor in unrolled(tensors[1:]):
        product = product @ factor
    return product


def chain_matmul(*matrices):
    return multi_dot(matrices)


def matrix_power(input, n):
    if n < 0:
        refuse("a negative `matrix_power`")
    if n == 0:
        return torch.eye(input.size(0))
    product = input
    for _ in unrolled(range(n - 1)):
        product = product @ input
    return product


def cross(input, other, dim=None):
    """`torch.cross`: along the first dimension of extent 3 if none is named."""
    if dim is None:
        threes = [d for d in unrolled(range(input.dim())) if is_fixed(input.size(d)) and input.size(d) == 3]
        return cross(input, other, threes[0])
    a, b = input.unbind(dim), other.unbind(dim)
    return torch.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dim)


def linalg_cross(input, other, dim=-1):
    return cross(input, other, dim)
