"""Assignment to parts of tensors, with extents and indices that are known at run time only."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


def adjacency(self, x, edges):
    n = x.size(0)
    adj = torch.zeros(n, n)
    adj[edges[0], edges[1]] = 1.0
    adj[edges[1], edges[0]] = 1.0
    adj = (adj + adj.t() > 0).float() + torch.eye(n)
    deg = adj.sum(dim=1)
    scale = deg.pow(-0.5)
    scale[torch.isinf(scale)] = 0.0
    return scale.unsqueeze(1) * adj * scale.unsqueeze(0)


def values_by_pairs(self, x, edges):
    """Where a pair comes twice, the last value stays; columns of fixed extent, values of one element, further dimensions."""
    n = x.size(0)
    weights = torch.arange(edges.size(1)).float()
    first = torch.zeros(n, n)
    first[edges[0], edges[1]] = weights
    first[edges[0], edges[1]] += weights + 1.0
    second = torch.zeros(n, 3)
    second[torch.arange(n), [i % 3 for i in range(n)]] = x.sum(1)
    third = torch.zeros(n, n, 4)
    third[edges[0], edges[1]] = x[0]
    third[edges[1], edges[0]] = x[edges[0]]
    fourth = torch.zeros(3, 3)
    fourth[torch.arange(n) % 3, torch.arange(n) % 3] = torch.ones(1)
    return first, second, third, fourth


def named_by_tuples(self, x, edges):
    """A tuple of the program names one part by several ints; a list names several."""
    n = x.size(0)
    marked = torch.zeros(n, n)
    for pair in zip(edges[0].tolist(), edges[1].tolist(), strict=True):
        marked[pair] = 1.0
        marked[pair] += marked[pair[::-1]]
    place = (0, n - 1)
    marked[place] = x[place[0], 0]
    rows = torch.zeros(n, 3)
    rows[[0, n - 1]] = 2.0
    return marked, rows


def pairs_of_ints(self, x, edges):
    n = x.size(0)
    adj = torch.zeros(n, n)
    for i, j in zip(edges[0].tolist(), edges[1].tolist(), strict=True):
        adj[i, j] = 1.0
        adj[j][i] = adj[j][i] + 2.0
        adj[-1, i] += 0.5
    return adj


def positions(self, x, edges):
    n, dim = x.size(0), 6
    position = torch.arange(n).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe = torch.zeros(n, dim)
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    odd = torch.zeros(n, 7)
    odd[:, 0::2] = 1.0
    odd[:, 1:-1:2] = x[:, :3]
    odd[..., 5] = 2.0
    return pe, odd


def columns(self, x, edges):
    n = x.size(0)
    y = x * 1.0
    y[:, 3] = 5.0
    y[:, 1] = x.sum(1)
    y[:, :2] += 1.0
    y[:, -1:] = x[:, :1]
    z = torch.zeros(n, 4)
    z[:, [2, 0]] = x[:, :2]
    z[:, [1]] = 3.0
    w = torch.zeros(4, n)
    w[1] = x[:, 0]
    w[2:] = x.t()[:2]
    w[:, 0] = x[0]
    w[0, 1:] = 7.0
    return y, z, w


def rows(self, x, edges):
    n = x.size(0)
    y = x * 1.0
    y[0] = x.mean(0)
    y[-1] = torch.ones(1, 4)
    y[1:] = y[1:] * 2
    y[1:, 0] = 4.0
    y[: n // 2, 1:3] = x[: n // 2, :2]
    y[::2] = -1.0
    y[1::2, 0::2] = x[1::2, 1::2]
    y[n:] = 8.0
    z = torch.zeros(n, n)
    z[0] = 1.0
    z[-1] = x[:, 0]
    z[:, 0] = x[:, 1]
    z[:-1, 1:] += 2.0
    z[edges[0]] = 3.0
    z[edges[1], 0] = 4.0
    z[edges[0], :1] = x[edges[1], :1]
    z[0, edges[0]] = 6.0
    z[:] = z + 1
    return y, z


def by_masks(self, x, edges):
    n = x.size(0)
    y = x * 1.0
    y[x[:, 0] > 0] = 0.0
    y[:, x[0] > 0] = 9.0
    y[x[:, 1] > 0, 2] = 1.0
    y[x > 1] = -1.0
    y[0, x[0] < 0] = x[0].sum()
    z = torch.zeros(n, n)
    z[torch.eye(n) > 0] = 2.0
    z[x[:, 0] > 0] = x[:, 0]
    return y, z


def sinusoid(n, dim):
    pe = torch.zeros(n, dim)
    div = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe[:, 0::2] = torch.sin(torch.arange(n, dtype=torch.float)[:, None] * div)
    return pe


def waves(n, dim):
    phases = torch.arange(n).unsqueeze(1).float() * torch.pow(100.0, -torch.arange(0, dim, 2).float() / dim)
    return torch.cat([torch.sin(phases), torch.cos(phases)], dim=1)


def halves_of_waves(self, x, edges):
    both = waves(x.size(0), 6)
    return both.split(both.shape[1] // 2, dim=-1)


def counted_down(n, dim):
    """A recursion whose number gives another extent in each call."""
    return torch.zeros(n, dim).sum() + n if n == 0 else counted_down(n - 1, dim) + torch.ones(n).sum()


def sizes_as_parameters(self, x, edges):
    return sinusoid(x.size(0), 6), sinusoid(2, 4), sinusoid(x.size(0), x.size(0) * 2), counted_down(3, 2)


def dtypes_of_ranges(self, x, edges):
    n = x.size(0)
    fixed = torch.arange(2, 12, 3, dtype=torch.float)
    varying = torch.arange(n, dtype=torch.float32)
    picked = [int(i) + 1 for i in torch.arange(3)]
    return fixed, varying, torch.arange(4), torch.arange(4)[None].float(), fixed[1] / 2, varying[0] + 0.5, picked


def of_ints_and_bools(self, x, edges):
    n = x.size(0)
    ids = torch.zeros(n, dtype=torch.long)
    ids[0] = 4
    ids[1:] = 2
    ids[-1:] = torch.arange(1)
    ids[x[:, 0] > 0] = 7
    ids[edges[0]] = edges[1]
    seen = torch.zeros(n, dtype=torch.bool)
    seen[edges[0]] = True
    seen[::2] = False
    y = torch.zeros(n, 2)
    y[:, 0] = ids
    y[:, 1] = seen
    y[0] = edges.size(1)
    return ids, seen, y


def scattered(self, x, edges):
    n = x.size(0)
    classes = torch.arange(n) % 4
    hot = torch.zeros(n, 4).scatter(1, classes.unsqueeze(1), 1.0)
    hot.scatter_(1, torch.zeros(n, 1, dtype=torch.long), 0.5)
    moved = torch.zeros(n, 4).scatter(-1, classes.unsqueeze(1), x[:, 1:2])
    fixed = torch.zeros(3, 4).scatter(0, torch.tensor([[2, 0, 1, 2]]), 2.0)
    return hot, moved, fixed, torch.zeros(2, 3).scatter(1, torch.tensor([[2, 2], [0, 1]]), x[0].view(2, 2))


def of_fixed_shape(self, x, edges):
    n = x.size(0)
    t = torch.zeros(4, 5)
    t[:, 0::2] = 1.0
    t[1::2, 1:3] = x[0, :2]
    t[2] = 3.0
    t[..., -1] = x[0]
    t[n % 4, n % 5 :] = 5.0
    t[: n % 4] = t[: n % 4] * 2
    t[torch.arange(n) % 4] = 6.0
    t[0, ::3] = 8.0
    u = torch.zeros(2, 3, 5)
    u[:, 1, ::2] = 1.0
    u[0, :, 1::2] = x[0, :2]
    u[1, ::2, 3] = x[0, :2]
    u[:, :, 0:0] = 1.0
    return t, u


FORWARDS = [
    adjacency,
    values_by_pairs,
    pairs_of_ints,
    named_by_tuples,
    positions,
    columns,
    rows,
    by_masks,
    sizes_as_parameters,
    halves_of_waves,
    dtypes_of_ranges,
    of_ints_and_bools,
    scattered,
    of_fixed_shape,
]


def instances():
    torch.manual_seed(0)
    return [(torch.randn(n, 4), torch.randint(n, (2, e))) for n, e in ((3, 4), (1, 1), (5, 9), (2, 0), (4, 3))]


@pytest.mark.parametrize("forward", FORWARDS)
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(nn.Module(), forward), instances(), spread=True)


class Encoder(nn.Module):
    """Host code and kernels of what is assigned to parts."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x, edges):
        adj = adjacency(self, x, edges)
        y = torch.cat([x, x[:, :2]], 1) + sinusoid(x.size(0), 6)
        y[1:, 0] = y[:-1, 1]
        return self.layer(adj @ y), adj


def test_generated_code():
    given = instances()
    torch.manual_seed(1)
    module = Encoder().eval()
    executable = compile(module, sample=given)
    with torch.no_grad():
        for got, x in zip(executable(given), given, strict=True):
            for a, b in zip(got, module(*x), strict=True):
                torch.testing.assert_close(a, b)


def longer_than_its_place(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[1:] = torch.cat([x, x])
    return y


def behind_the_end(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[edges[0] + 1, edges[1]] = 1.0
    return y


def first_of_none(self, x, edges):
    y = x * 1.0
    z = y[1:]
    w = z * 2.0
    w[0, 1:] = 3.0
    return w


OUTSIDE = "list index out of range"
TOLD = {
    longer_than_its_place: "two extents must be equal here, and are 2 and 0",
    behind_the_end: OUTSIDE,
    first_of_none: OUTSIDE,
}


@pytest.mark.parametrize("forward", TOLD)
def test_what_eager_pytorch_refuses_is_an_error_of_the_instance(forward):
    """What fits with other instances, so that nothing is wrong with the model."""
    interpreter = Interpreter(build(with_forward(nn.Module(), forward), sample=instances()))
    with pytest.raises(InstanceError, match=TOLD[forward]):
        interpreter.run((torch.ones(1, 4), torch.zeros(2, 3, dtype=torch.long)))


def new_dimension(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[:, None] = 1.0
    return y


def too_many(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[0, 0, 0] = 1.0
    return y


def too_wide(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[:, :3] = x
    return y


def places_of_two_dimensions(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    y[edges] = 1.0
    return y


def one_of_the_instance(self, x, edges):
    x[:, 0] = 1.0
    return x


def seen_by_a_view(self, x, edges):
    y = torch.zeros(x.size(0), 4)
    row = y[0]
    y[:, 0] = 1.0
    return row


REFUSED = {
    new_dimension: "has no new dimension",
    too_many: "3 indices of a tensor of 2 dimensions",
    too_wide: r"a tensor of shape \(4,\) does not fit into the place of shape \(3,\)|expanded|broadcast",
    places_of_two_dimensions: "of one dimension each",
    one_of_the_instance: "may be seen under another name than `x`",
    seen_by_a_view: "may be seen under another name than `y`",
}


@pytest.mark.parametrize("forward", REFUSED)
def test_refused(forward):
    with pytest.raises(CompileError, match=REFUSED[forward]):
        build(with_forward(nn.Module(), forward), sample=instances())
