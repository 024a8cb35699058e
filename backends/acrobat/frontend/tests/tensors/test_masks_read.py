"""Masks whose values the source reads: lists of bools, their length, and masks that choose elements of several dimensions."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def listed(self, x):
    of_rows, of_columns = (x[:, 0] > 0).tolist(), (x[0] > 0).tolist()
    assignment = {i + 1: bit for i, bit in enumerate(of_rows)}
    return of_rows, of_columns, [not bit for bit in of_columns], sum(assignment[i + 1] for i in range(len(x)))


def listed_in_rows(self, x):
    bits = (x @ x.t() > 0).tolist()
    edges = [(i, j) for i in range(len(bits)) for j in range(len(bits)) if bits[i][j]]
    return edges, (x > 0).tolist(), [any(row) for row in (x > 1).tolist()], (x.sum() > 0).tolist()


def counted(self, x):
    keep = x[:, 0] > 0
    return keep.sum() / len(keep), len(x[0] > 0)


def of_several_dimensions(self, x):
    scores = x @ x.t()
    row = x.unsqueeze(1)
    return scores[scores > 0].sum(), x[x > 0], x[0][x[0] > 0], row[row[:, :, 0] > 0], x.unsqueeze(0)[x.unsqueeze(0) < 0].numel()


def by_computed_columns(self, x):
    columns = x.argmax(-1)
    return x[torch.arange(len(x)), columns], x[torch.arange(x.size(0)), x.argmin(1)].sum()


def of_one_element(self, x):
    a, b = x[0, :1], x[0, 1:2]
    m, n = a > 0, b > 0.5
    both = m & n, m | n, m ^ n, ~m, m + n, m * n, m == n, m != n
    floats = [t.float() for t in (m, *both)]
    moved = m.view(1, 1).float(), m.unsqueeze(0).long(), m.expand(3).float(), m.squeeze().float(), m.tolist(), m.item()
    counts = m.int(), m.sum(), m.any().float(), m.all().float(), m.numel(), m.dim(), m.size(0), m.shape == a.shape
    kinds = m.to(torch.float32), m.type_as(a), m.logical_not().float(), m.dtype == torch.bool, torch.cat([m, n]).float()
    return floats, moved, counts, kinds


def without_dimensions(self, x):
    s, row = x.sum(), x[0, :1]
    m = s > 0
    chosen = torch.where(m, s, -s), torch.where(row > 0, s, -s), s.masked_fill(m, 2.0), torch.logical_and(m, s > 1).float()
    products = m * s, (row > 0) * s, 1.5 * m, (row > 0) * 0.5, (s + m), (row > 0) / 2
    asked = (x > 0).any().float(), (x[0] > 0).all().float().view(1), s.gt(0).float(), torch.gt(s, 0).float().view(1)
    return m.float(), m.long(), chosen, products, asked, torch.stack([m, s > 1]).float(), m.unsqueeze(0).float()


def decided(self, x):
    m = x[0, :1] > 0
    y = m.float() if m else 2 - m.float()
    return y, 1 if m and not ~m else 0


@pytest.mark.parametrize(
    "forward",
    [
        listed,
        listed_in_rows,
        counted,
        of_several_dimensions,
        by_computed_columns,
        of_one_element,
        without_dimensions,
        decided,
    ],
)
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize("forward", [of_one_element, without_dimensions])
def test_masks_of_one_element_natively(forward, codegen, tmp_path):
    torch.manual_seed(0)
    agrees_natively(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)], codegen, tmp_path)


def test_elements_of_given_bools():
    forward = lambda self, m: (m[0].float(), (~m[0]).float(), m[0] * 2.0, torch.stack([m[0], m[1]]).float())  # noqa: E731
    agrees(with_forward(nn.Module(), forward), [torch.tensor([True, False, True][:n]) for n in (2, 3)])


def changed_in_between(self, x):
    y = x[0, :1] * 1
    m = y > 0
    y.add_(5)
    return m.float(), y


def of_an_argument(self, x):
    return as_floats(x[0, :1] > 0)


def as_floats(m):
    return m.float()


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        (changed_in_between, "a tensor that was compared here has changed since then"),
        (of_an_argument, r"a bool has no attribute `float`(.|\n)*write it where they are compared: `\(x > 0\).float\(...\)`"),
    ],
)
def test_a_bool_of_which_the_mask_is_not_known_is_refused(forward, what):
    with pytest.raises(CompileError, match=what):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])


def too_many_dimensions(self, x):
    return x[0][x > 0]


def another_extent(self, x):
    return x.unsqueeze(1)[x[:, :2] > 0]


def behind_others(self, x):
    return x.unsqueeze(0)[:, x > 0]


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        (too_many_dimensions, "a mask of 2 dimensions chooses no parts of a tensor of 1"),
        (another_extent, "a mask of 2 elements chooses among 1 parts of a tensor"),
        (behind_others, "a mask of several dimensions chooses along the first ones here"),
    ],
)
def test_masks_that_do_not_fit_are_refused(forward, what):
    with pytest.raises(CompileError, match=what):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])


def of_bytes(self, x):
    n = 0
    while ((x.sum(0) + n < 2) & (x[0] < 9)).byte().any():
        n += 1
    if not (x > 0).byte().all():
        x = x + (x > 0).byte().any(1).float().unsqueeze(1)
    flags = (x > 0).byte()
    return n, flags.sum(), flags.float(), flags.long(), flags.bool(), x[(x[:, 0] > 0).byte()]


def test_bytes_of_masks():
    agrees(with_forward(nn.Module(), of_bytes), [torch.randn(n, 4) for n in (1, 3, 2)])


@pytest.mark.parametrize(
    "forward", [lambda self, x: (x > 0).byte(), lambda self, x: ~(x > 0).byte(), lambda self, x: (x > 0).byte().any().item()]
)
def test_bytes_are_no_bools(forward):
    with pytest.raises(CompileError, match="bytes"):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (1, 3, 2)])
