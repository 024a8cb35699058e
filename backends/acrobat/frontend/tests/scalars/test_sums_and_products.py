"""Sums of bools and ints, `zip(*lists)` and `einsum` of tensors whose extents vary, against eager PyTorch."""

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Sums(nn.Module):
    """How many are equal, and the like: bools are added as ints, ints to a float as floats."""

    def forward(self, instance):
        a, b = instance
        right = sum(p == q for p, q in zip(a, b, strict=True))
        large = sum((p > 2 for p in a), 1.5)
        return right / len(a), large, sum([a[0] > 1]), sum(a, 0.5), sum([True, a[0] > 0])


class Transposed(nn.Module):
    """`zip(*rows)` of lists whose number and lengths vary, as for the outputs of several heads."""

    def forward(self, instance):
        rows = [[x * 2 for x in row] for row in instance]
        sums = [sum(column) for column in zip(*rows, strict=False)]
        return sums, [list(column) for column in zip(*rows, strict=False)]


class Biaffine(nn.Module):
    """Scores of all pairs for several labels at once, in each order of the result's dimensions."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3, 4))
        self.one = nn.Parameter(torch.randn(3, 4))

    def forward(self, instance):
        x, y = instance
        return (
            torch.einsum("xi,oij,yj->oxy", x, self.weight, y),
            torch.einsum("xi,oij,yj->xyo", x, self.weight, y),
            torch.einsum("xi,ij,yj->xy", x, self.one, y),
            torch.einsum("xi,oij->xoj", x, self.weight),
            torch.einsum("oij,xi->oxj", self.weight, x),
        )


class Heads(nn.Module):
    """Sums over two dimensions of a tensor of which another one varies."""

    def __init__(self):
        super().__init__()
        self.out = nn.Parameter(torch.randn(2, 4, 3))

    def forward(self, heads):
        by_word = heads.transpose(0, 1)
        return (
            torch.einsum("hqk,hkd->qd", heads, self.out),
            torch.einsum("qhk,hkd->dq", by_word, self.out),
            torch.einsum("qhk,phk->qp", by_word, by_word * 2),
            torch.einsum("qhk,qhk->q", by_word, by_word),
            torch.einsum("qhk,qde->hkde", by_word, by_word),
            torch.einsum("hqk,k->hq", heads, self.out[0, :, 0]),
            torch.einsum("k,qhk->qh", self.out[0, :, 0], by_word),
        )


@pytest.mark.parametrize(
    ("model", "instances"),
    [
        (Heads, [torch.randn(2, n, 4) for n in (1, 3, 5)]),
        (Sums, [([1, 3, 0], [1, 2, 0]), ([0], [1]), ([3, 3], [3, 3])]),
        (Transposed, [[[1, 2], [3, 4, 5]], [[7]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[], [1]]]),
        (Biaffine, [(torch.randn(n, 3), torch.randn(m, 4)) for n, m in ((1, 2), (3, 1), (4, 4))]),
    ],
)
def test_agrees_with_eager(model, instances):
    torch.manual_seed(3)
    module = model()
    agrees(module, instances)
