"""Tensors of ints and masks as models of sequences use them, against eager PyTorch: the programs run in the interpreter."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, with_forward

SENTENCES = [torch.tensor(ids) for ids in ([1, 2, 3], [4, 5, 6, 7], [2, 9, 1, 1, 3, 8])]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 6)
        self.gru = nn.GRU(6, 6)
        self.cell = nn.GRUCell(6, 6)
        self.out = nn.Linear(6, 10)
        self.other = nn.Linear(6, 10)

    def update(self, h, x):
        return self.cell(self.table(x), h)


class Tutorial(Model):
    """The decoder of PyTorch's tutorial: the rank of its input differs from round to round."""

    def forward(self, x):
        h, token, out = torch.zeros(1, 1, 6), torch.tensor([[0]]), []
        for i in range(x.size(0)):
            o, h = self.gru(self.table(x[i]).view(1, 1, -1), h)
        for _ in range(4):
            o, h = self.gru(self.table(token).view(1, 1, -1), h)
            _, index = self.out(o[0]).data.topk(1)
            out.append(index.item())
            token = index.squeeze().detach()
        return out, h


class Forced(Model):
    """Carries a written-out tensor of one int, then parts of the instance: each is the input of the round after."""

    def forward(self, x):
        h, token, out = torch.zeros(1, 6), torch.LongTensor([0]), []
        for t in range(len(x)):
            h = self.update(h, token)
            out.append(h)
            token = x[t].unsqueeze(0) if t % 2 else x[t : t + 1].view(1)
        return torch.cat(out)


class Growing(Model):
    """Appends what it has decoded to the ids, as transformers' `greedy_decode` does."""

    def forward(self, x):
        ids = torch.ones(1, 1, dtype=torch.long)
        for _ in range(3):
            best = self.out(self.table(ids).mean(1)).argmax(-1).item()
            ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
        return ids, torch.cat([torch.tensor([0]), x, x.new_ones(1)]), torch.stack([x[0], x[1]])


class Scored(Model):
    """Log-probabilities of the right words, gathered in three ways."""

    def forward(self, x):
        scores = F.log_softmax(self.out(self.table(x)), -1)
        column = x.unsqueeze(1)
        same = torch.zeros(())
        for row in column:
            same = same + self.table(row).sum()
        return scores.gather(1, column).squeeze(1), scores[torch.arange(len(x)), x], same, self.table(x.view(1, -1)), column


class Masked(Model):
    """A mask that a loop, a branch and a list hold."""

    def forward(self, x):
        rows = self.table(x)
        mask, total, masks = rows > 0, rows.sum(0), []
        for _ in range(3):
            total = total + rows.masked_fill(mask, 0.0).sum(0)
            mask = mask & (rows < total)
            masks.append(x > 2)
        chosen = rows > 1.0 if total.sum() > 0 else rows < 0.5
        for m in masks:
            total = total + (rows * m.float().unsqueeze(1)).sum(0)
        return total, rows.masked_fill(chosen, 0.0)


class Broadcast(Model):
    """Dimensions of extent 1 around ints stay where they are, beside tensors of fewer dimensions."""

    def forward(self, x):
        deep, one = x.view(-1, 1, 1), x[:1].view(1, 1)
        wide = deep + x, deep == x, deep * x.view(-1, 1), deep.float() * x, (deep + x).sum(0)
        return wide, one == x, one.unsqueeze(0) + x, one + x.view(-1, 1), deep.expand(-1, 3, 2), torch.stack([deep, deep], 1)


class RunningTotals(Model):
    """Along each dimension of ints."""

    def forward(self, x):
        pair = torch.stack([x, x // 2 + 1])
        along = pair.cumsum(0), pair.cumsum(1), pair.t().cumsum(0), pair.t().cumsum(-1), pair.cumprod(0), pair.cumprod(-1)
        return along, x.cumsum(0), x.view(-1, 1).cumsum(0), x.view(1, -1).cumsum(1), [row.cumsum(0) for row in pair.unbind(0)]


class Pairs(Model):
    """Two rows of ints are filled, widened and joined as ints."""

    def forward(self, x):
        pair = torch.stack([x, x // 2 + 1])
        filled = pair.masked_fill(pair > 2, 0), x.masked_fill(x > 2, -1), pair.argmax(0).masked_fill(x > 1, 7)
        return filled, pair.unsqueeze(0), pair.unsqueeze(-1), torch.cat([pair, x.view(1, -1)], 0), torch.cat([pair, pair], 0)


class Powers(Model):
    """Of ints by an int they are ints, by a float floats."""

    def forward(self, x):
        pair = torch.stack([x, x // 2 + 1])
        return x**2, x.pow(3), torch.pow(x, 1), x.square(), pair**2, x**2.0, x**0.5, 2.0**x, self.table(x).argmax(1) ** 2


@pytest.mark.parametrize("model", [Tutorial, Forced, Growing, Scored, Masked, Broadcast, RunningTotals, Pairs, Powers])
def test_agrees_with_eager(model):
    torch.manual_seed(1)
    module = model().eval()
    program = agrees(module, SENTENCES)
    for sentence in SENTENCES:
        mine, theirs = as_tensors(Interpreter(program).run(sentence)), module(sentence)
        assert floating(mine) == floating(theirs)


def floating(value):
    """For each tensor of a result whether it has floats."""
    if isinstance(value, torch.Tensor):
        return [value.is_floating_point()]
    return [flag for v in value for flag in floating(v)] if isinstance(value, (tuple, list)) else []


class Replaced(Model):
    def forward(self, x):
        layer, total = self.out, torch.zeros(10)
        for row in self.table(x):
            total = total + layer(row)
            layer = self.other
        return total


class Squeezed(Model):
    def forward(self, x):
        return (self.table(x) @ self.table(x).t()).squeeze(1)


@pytest.mark.parametrize("work", [lambda self, x: 2**x, lambda self, x: x**x, lambda self, x: x**0])
def test_powers_of_ints_that_are_refused(work):
    """They were floats."""
    with pytest.raises(CompileError, match="a power of ints is one by a constant int from 1 to 64 here"):
        build(with_forward(Model(), work), sample=SENTENCES)


def test_refuses():
    """A loop compiled with the module from before it would be wrong in all rounds but the first."""
    with pytest.raises(CompileError, match="`layer` holds something before this loop"):
        build(Replaced().eval(), sample=SENTENCES)


def test_squeeze_of_an_extent_that_varies():
    """Its rank depends on the extent in PyTorch; here the extent is 1, or it is an error of the instance."""
    program = build(Squeezed().eval(), sample=SENTENCES)
    with pytest.raises(InstanceError, match="`squeeze` of a dimension whose extent is 3, not 1"):
        Interpreter(program).run(torch.tensor([1, 2, 3]))
    assert Interpreter(program).run(torch.tensor([1])).shape == (1,)


def lists_of_lists(xs):
    ids, upper = torch.tensor(xs), torch.triu(torch.ones(2, 2), 1).bool().long()
    pair = torch.stack([ids, ids + 1])
    large = (pair > 1).long()
    return (
        pair.tolist(),
        pair.t().tolist(),
        large.tolist(),
        torch.cat([pair, pair]).tolist(),
        upper.tolist(),
        (upper * 2).tolist(),
    )


def test_a_list_of_lists_has_the_rows_of_the_tensor():
    agrees(module(lists_of_lists), [[1, 2, 3], [5, 1], [0, 7, -2, 4]])


def of_edges(self, triples):
    """A graph whose edges may be none, and a table of ints that is filled in place."""
    edges, kinds = torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    if len(triples) > 0:
        a, r, b = torch.tensor(triples, dtype=torch.long).t()
        edges, kinds = torch.stack([torch.cat([a, b]), torch.cat([b, a])]), torch.cat([r, r + 4])
    source, target = edges[:, kinds < 4]
    degree = torch.zeros(6).scatter_add_(0, target, torch.ones(target.size(0)))
    n, table = len(triples) + 1, torch.zeros(len(triples) + 1, 3, dtype=torch.long)
    for i, (a, _, _) in enumerate(triples):
        table[i, a] = i + 1
    threes = torch.full((2, n), 3)
    return edges, source, degree, table, table.float().sum(0), threes + 1, torch.ones(1, n, 2, dtype=torch.long), threes[1]


def test_tensors_of_ints_of_several_extents_are_made():
    agrees(with_forward(nn.Module(), of_edges), [[(0, 0, 1), (1, 5, 2)], [], [(2, 3, 0)], [(0, 1, 2)] * 4])
