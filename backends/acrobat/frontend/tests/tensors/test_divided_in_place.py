"""Parts of a divided tensor that are changed in place, where nothing else shows the tensor any more. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.lin = nn.Linear(4, 4)

    def made(self, xs):
        return self.lin(self.e.weight[xs[0]])

    def same(self, x):
        return x


def chunked(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, b = t.chunk(2)
    a[0] = 1.0
    b.mul_(a)
    return a, b


def divided(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, b = torch.split(t, [1, 3])
    b += a
    return a, b


def unbound(self, xs):
    t = self.lin.weight * 2
    a, b, c, d = t.unbind(1)
    a += b
    c[0] = 3.0
    return a, b, c, d


def at_once(self, xs):
    a, b = self.made(xs).view(2, 2).unbind()
    a += b
    b.fill_(2.0)
    return a, b


def activated(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, b = t.chunk(2, dim=-1)
    F.relu_(a)
    b.sigmoid_()
    return a * b


def in_rounds(self, xs):
    h = torch.zeros(4)
    for x in xs:
        t = self.lin(h + self.e.weight[x])
        a, b = t.chunk(2)
        a += b
        h = torch.cat([a, b])
    return h


def under_its_own_name(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    t, gate = t.chunk(2)
    t *= gate
    return t, gate


def varying(self, xs):
    t = self.e.weight[torch.tensor(xs)] * 2
    a, b = t.chunk(2, dim=1)
    a += b
    return a, b


RIGHT = [chunked, divided, unbound, at_once, activated, in_rounds, under_its_own_name, varying]


@pytest.mark.parametrize("forward", RIGHT, ids=lambda f: f.__name__)
def test_as_eager(forward):
    agrees(with_forward(Model(), forward), LISTS)


def read_later(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, _ = t.chunk(2)
    a += 1
    return t


def changed_itself(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, _ = t.chunk(2)
    t += 1
    return a


def under_another_name(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    s = t
    a, _ = t.chunk(2)
    a += 1
    return s


def in_a_list(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    ys = [t]
    a, _ = t.chunk(2)
    a += 1
    return ys[0]


def shown_by_a_view(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    v = t.view(2, 2)
    a, _ = t.chunk(2)
    a += 1
    return v


def part_under_two_names(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    a, _ = t.chunk(2)
    b = a.view(1, 2)
    a += 1
    return b


def of_the_model(self, xs):
    a, _ = self.lin.bias.chunk(2)
    a += 1
    return a


def of_an_argument(self, xs):
    a, _ = self.same(self.e.weight[xs[0]]).chunk(2)
    a += 1
    return a


def in_several_places(self, xs):
    t = torch.ones(1, 4)
    a, b = t.expand(2, 4).unbind()
    a += 1
    return b


def each_round(self, xs):
    t = self.lin(self.e.weight[xs[0]])
    ys = []
    for _ in xs:
        a, b = t.chunk(2)
        a += 1
        ys.append(a + b)
    return ys


REFUSED = [read_later, changed_itself, under_another_name, in_a_list, shown_by_a_view, part_under_two_names, of_the_model]
REFUSED += [of_an_argument, in_several_places, each_round]


@pytest.mark.parametrize("forward", REFUSED, ids=lambda f: f.__name__)
def test_refused(forward):
    with pytest.raises(CompileError, match=r"under (another name|other names)|seen elsewhere"):
        build(with_forward(Model(), forward), sample=LISTS)
