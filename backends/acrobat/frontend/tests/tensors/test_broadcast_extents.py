"""Extents that vary and are 1 in some instances are broadcast to others that vary, as PyTorch does. Where two extents are
known to agree, nothing is added to the program."""

# mypy: ignore-errors
from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.tensors.test_unequal_extents import Pairs, pairs
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.printer import print_program
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

SOME = pairs((2, 2), (3, 1), (1, 4), (1, 1), (5, 5))
NONE = [*SOME, *pairs((0, 1), (1, 0))]


def operators(self, pair):
    x, y = pair
    return x + y, x * y - x, x / (y * y + 1.0), self.scored(x) - self.scored(y), (x * y).sum()


def functions(self, pair):
    x, y = pair
    return torch.add(x, y), torch.maximum(x, y), torch.max(x, y), x.mul(y), torch.minimum(y, x + 1.0).sum(0)


def masks(self, pair):
    x, y = pair
    return x > y, (x > 0) & (y > 0), torch.where(x > 0, x, y), torch.where(x > y, y, 0.0), x.masked_fill(y[:, :1] > 0, 0.0)


def three_extents(self, pair):
    x, y = pair
    z = torch.cat([x, y])[1:]
    return torch.where(x[:1] > 0, x, y), torch.where(y > 0, z[: len(x)], x), z[: len(x)] + x


def again_and_again(self, pair):
    x, y = pair
    h = x
    for _ in range(3):
        h = self.scored(h * 0.5 + y) @ torch.ones(3, 4)
    return h, h + x, h.sum(0), len(h)


def changed_by_broadcast(self, pair):
    x, y = pair
    z = torch.cat([x, x])
    z[len(x) :] = y.mean(0, keepdim=True)
    z[: len(x)] = torch.cat([y, y])[: min(1, len(y))]
    w = x + y
    w += x[:1]
    w -= y * x
    return z, w


def of_ints(self, pair):
    x, y = pair
    a, b = torch.arange(len(x)), torch.arange(len(y)) * 3
    return a + b, a > b, torch.where(a > 1, a, b), (a * b).float().sum(), torch.maximum(a, b)


def two_that_vary(self, pair):
    x, y = pair
    scores = x @ y.t()
    return scores + x[:, 0], scores * y[:, :1], scores + x @ x.t(), scores.unsqueeze(0) - (y @ y.t())


@pytest.mark.parametrize("codegen", ["", "vm", "aot"])
@pytest.mark.parametrize(
    "forward",
    [operators, functions, masks, again_and_again, of_ints],
    ids=lambda f: f.__name__,
)
def test_what_varies_is_broadcast_to_what_varies(forward, codegen, tmp_path):
    if codegen:
        agrees_natively(with_forward(Pairs(), forward), NONE, codegen, tmp_path)
    else:
        agrees(with_forward(Pairs(), forward), NONE)


def test_three_operands():
    agrees(with_forward(Pairs(), three_extents), pairs((2, 2), (1, 4), (1, 1), (5, 5), (1, 2)))


def test_parts_get_what_is_broadcast():
    agrees(with_forward(Pairs(), changed_by_broadcast), pairs((2, 2), (3, 1), (1, 1), (5, 5)))


def test_two_extents_that_vary():
    agrees(with_forward(Pairs(), two_that_vary), pairs((2, 2), (1, 1), (5, 5), (1, 3)))


def of_the_library(self, pair):
    x, y = pair
    one = F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.l1_loss(x, y, reduction="none"), F.cosine_similarity(x, y)
    return *one, torch.lerp(x, y, 0.3), torch.atan2(x, y), torch.isclose(x, y), F.pairwise_distance(x, y), torch.equal(x, y)


def test_functions_of_the_library_broadcast():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of losses of two shapes
        agrees(with_forward(Pairs(), of_the_library), SOME)


def entropy(self, pair):
    x, y = pair
    return F.binary_cross_entropy(x.sigmoid(), y.sigmoid())


def in_place(self, pair):
    x, y = pair
    z = x * 1
    z += y
    return z


def by_a_method(self, pair):
    x, y = pair
    z = x * 1
    z.mul_(y)
    return z


def joined(self, pair):
    return torch.cat([pair[0], pair[1]], 1)


def by_a_mask(self, pair):
    x, y = pair
    z = x * 1
    z[y[:, 0] > 0] = 0.0
    return z


REFUSED = {entropy: (1, 3), in_place: (1, 3), by_a_method: (1, 3), joined: (1, 3), by_a_mask: (3, 1)}


@pytest.mark.parametrize("forward", REFUSED)
def test_what_pytorch_does_not_broadcast_is_an_error_of_the_instance(forward):
    model, (other,) = with_forward(Pairs(), forward), pairs(REFUSED[forward])
    with torch.no_grad(), pytest.raises((RuntimeError, ValueError, IndexError)):
        model(other)
    interpreter = Interpreter(build(model, sample=SOME))
    interpreter.run(pairs((2, 2))[0])
    with pytest.raises(InstanceError):
        interpreter.run(other)


class Positions(nn.Module):
    """Positions from an offset on, which are as many as the words."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.positions, self.layer = nn.Embedding(30, 4), nn.Embedding(60, 4), nn.Linear(3, 4)

    def forward(self, instance):
        ids, past = instance
        n = len(ids)
        x = self.words(ids) + self.positions(torch.arange(past, past + n))
        x = x * torch.arange(past, n + past).float().unsqueeze(1)
        window = torch.arange(past, past + 3, dtype=torch.float32)
        return x, self.layer(window), self.layer.weight * torch.arange(past, past + 1).float()


def test_how_many_positions_there_are_is_known():
    instances = [(torch.randint(0, 30, (n,)), n + 2) for n in (1, 3, 4)]
    program = agrees(Positions(), instances)
    assert "host fail" not in print_program(program)


def signal(length, offset=0):
    position = torch.arange(offset, offset + length, dtype=torch.float32).unsqueeze(1)
    table = torch.zeros(length, 4)
    table[:, 0::2] = torch.sin(position * torch.ones(2))
    table[:, 1::2] = torch.cos(position * torch.ones(2))
    return table


class Universal(nn.Module):
    """Positions, and the number of the step as one more position for all."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        total, step = torch.zeros(x.size(0)), 0
        while step < 4 and bool((total < 1.5).any()):
            x = self.layer(x + signal(x.size(0)) + signal(1, offset=step))
            total = total + x.mean(1).sigmoid()
            step += 1
        return x, total, step


def test_a_signal_of_one_step_for_all_positions():
    agrees(Universal(), [torch.randn(n, 4) for n in (1, 2, 5)])
