"""Small square matrices: elimination, Cholesky factors, determinants, inverses, systems of equations and the exponential.

The extents are known at compile time, and every step over them is unrolled. Pivots are chosen by masks, so no instance waits
for a number (`matrix_exp` does, for how large its matrix is). Where PyTorch raises an error since a matrix is singular, or is
not positive definite, the results are infinite or NaN here; the determinant of a singular matrix is 0.
"""

import math

import torch

from backends.acrobat.library.words import is_fixed, less, refuse, same, unrolled


def check_square(input, name):
    if not is_fixed(input.size(-1)) or not is_fixed(input.size(-2)):
        refuse(f"`{name}` of a matrix whose extents vary")
    if input.size(-2) != input.size(-1):
        refuse(f"`{name}` of a matrix that is not square")


def eliminated(left, right, name):
    """What Gauss-Jordan elimination with partial pivoting makes of `right`, of shape (n, m), where it makes the unit matrix of
    `left`, of shape (n, n); and the pivots, each with the sign that the exchange of rows has given it."""
    check_square(left, name)
    rows = torch.arange(left.size(0)).float()
    pivots = []
    for k in unrolled(range(left.size(0))):
        below = torch.where(less(rows, float(k)), -1.0, left[:, k].abs())
        chosen = same(rows, below.argmax().float()).unsqueeze(1)
        here = same(rows, float(k)).unsqueeze(1)
        pivot, other = torch.where(chosen, left, 0.0).sum(0), torch.where(chosen, right, 0.0).sum(0)
        left, right = torch.where(chosen, left[k], left), torch.where(chosen, right[k], right)
        sign = torch.where(chosen[k], 1.0, -1.0)
        pivots.append(pivot[k : k + 1] * sign)
        other = other / pivot[k]
        pivot = pivot / torch.where(same(pivot[k], 0.0), 1.0, pivot[k])
        factors = left[:, k : k + 1]
        left = torch.where(here, pivot, left - factors * pivot)
        right = torch.where(here, other, right - factors * other)
    return right, torch.cat(pivots)


def solve(A, B, *, left=True):
    """`torch.linalg.solve`: `B` is a vector or a matrix, or one for each of several matrices."""
    if not left:
        return solve(A.transpose(-1, -2), B.transpose(-1, -2)).transpose(-1, -2)
    if A.dim() > 2:
        if B.dim() != A.dim():
            refuse("`solve` for several matrices with other than one right side for each", "unsqueeze the vectors")
        return torch.stack([solve(one, right) for one, right in zip(A, B)])
    if B.dim() == 1:
        return eliminated(A, B.unsqueeze(1), "solve")[0].squeeze(1)
    return eliminated(A, B, "solve")[0]


def inverse(input):
    if input.dim() > 2:
        return torch.stack([inverse(one) for one in input])
    return eliminated(input, torch.eye(input.size(0), input.size(1)), "inverse")[0]


def pivots_of(input, name):
    return eliminated(input, torch.zeros(input.size(0), 0), name)[1]


def det(input):
    if input.dim() > 2:
        return torch.stack([det(one) for one in input])
    return pivots_of(input, "det").prod()


def slogdet(input):
    if input.dim() > 2:
        signs, logs = [], []
        for one in input:
            sign, log = slogdet(one)
            signs.append(sign)
            logs.append(log)
        return torch.stack(signs), torch.stack(logs)
    pivots = pivots_of(input, "slogdet")
    return torch.sign(pivots).prod(), pivots.abs().log().sum()


def logdet(input):
    """`torch.logdet`: NaN where the determinant is negative."""
    sign, log = slogdet(input)
    return torch.where(less(sign, 0.0), float("nan"), log)


def cholesky(input, upper=False):
    """The factor column by column; only the lower triangle of the matrix is read."""
    if input.dim() > 2:
        return torch.stack([cholesky(one, upper=upper) for one in input])
    check_square(input, "cholesky")
    rest = input
    rows = torch.arange(input.size(0)).float()
    columns = []
    for k in unrolled(range(input.size(0))):
        column = torch.where(less(rows, float(k)), 0.0, rest[:, k] / torch.sqrt(rest[k, k]))
        rest = rest - column.unsqueeze(1) * column.unsqueeze(0)
        columns.append(column)
    return torch.stack(columns, 0 if upper else 1)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """`torch.linalg.solve_triangular`, which reads one triangle of `A` only."""
    if not left:
        other = solve_triangular(A.transpose(-1, -2), B.transpose(-1, -2), upper=not upper, unitriangular=unitriangular)
        return other.transpose(-1, -2)
    if A.dim() > 2:
        return torch.stack([solve_triangular(a, b, upper=upper, unitriangular=unitriangular) for a, b in zip(A, B)])
    check_square(A, "solve_triangular")
    n = A.size(0)
    solved = [B[0] for _ in range(n)]
    for step in unrolled(range(n)):
        k = n - 1 - step if upper else step
        row = B[k]
        for j in unrolled(range(k + 1, n) if upper else range(k)):
            row = row - A[k, j] * solved[j]
        solved[k] = row if unitriangular else row / A[k, k]
    return torch.stack(solved)


def cholesky_solve(input, input2, upper=False):
    """The solution for the right sides `input`, of the matrix whose factor is `input2`."""
    lower = input2.transpose(-1, -2) if upper else input2
    return solve_triangular(lower.transpose(-1, -2), solve_triangular(lower, input, upper=False), upper=True)


def cholesky_inverse(input, upper=False):
    check_square(input, "cholesky_inverse")
    return cholesky_solve(torch.eye(input.size(0)), input, upper)


def matrix_exp(input):
    """Scaling and squaring: the Taylor polynomial of degree 15 of the matrix divided by such a power of two that its norm is at
    most one half, where the terms left out are below the rounding of float64."""
    if input.dim() > 2:
        return torch.stack([matrix_exp(one) for one in input])
    check_square(input, "matrix_exp")
    one = torch.eye(input.size(0))
    norm = input.abs().sum(0).amax().item()
    squarings = 0
    while norm > 0.5 and squarings < 64:
        norm = norm * 0.5
        squarings += 1
    x = input * 0.5**squarings
    second = x @ x
    powers = [one, x, second, second @ x]
    fourth = second @ second
    result = torch.zeros_like(one)
    for block in unrolled((3, 2, 1, 0)):
        result = result @ fourth
        for k in unrolled(range(4)):
            result = result + powers[k] * (1.0 / math.factorial(4 * block + k))
    for _ in range(squarings):
        result = result @ result
    return result


def block_diag(*tensors):
    """Matrices beside and below each other, with zeros elsewhere; a vector is a matrix of one row."""
    rows, width, before = [], 0, 0
    for tensor in unrolled(tensors):
        width = width + (tensor.size(-1) if tensor.dim() > 0 else 1)
    for tensor in unrolled(tensors):
        matrix = tensor if tensor.dim() == 2 else tensor.reshape(1, -1)
        rows.append(torch.nn.functional.pad(matrix, (before, width - before - matrix.size(1))))
        before = before + matrix.size(1)
    return torch.cat(rows)


def cov(input, correction=1):
    """The covariances of the rows of a matrix; of a vector its variance."""
    rows = input - input.mean(-1, keepdim=True)
    if input.dim() < 2:
        return (rows * rows).sum() / float(input.size(0) - correction)
    return rows @ rows.t() / float(input.size(1) - correction)


def corrcoef(input):
    """The correlations of the rows of a matrix, kept between -1 and 1 as PyTorch keeps them."""
    if input.dim() < 2:
        refuse("`corrcoef` of a vector", "it is 1")
    covariances = cov(input)
    spread = covariances.diagonal().sqrt()
    return (covariances / spread.unsqueeze(1) / spread.unsqueeze(0)).clamp(-1.0, 1.0)
