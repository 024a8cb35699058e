"""Adaptive computation: loops that go on until halting probabilities add up to one, and weighted sums of the states."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Adaptive(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRUCell(4, 4)
        self.norm = nn.LayerNorm(4)
        self.halt = nn.Linear(4, 1)
        self.most = 4


class WithRemainder(Adaptive):
    """As Graves' network: the last state of a step counts as much as is left, and the sum begins as a number."""

    def forward(self, xs):
        state, cost = 0.0, 0
        for x in xs:
            p, n, total, h = 0, 0, 0.0, state
            while True:
                h = self.norm(self.cell(x, x * 0 + h))
                q = torch.sigmoid(self.halt(h)).item()
                n += 1
                if p + q >= 1 or n == self.most:
                    total = total + (1 - p) * h
                    break
                total, p = total + q * h, p + q
            state, cost = self.norm(total), cost + n
        return state, cost


class WithLists(Adaptive):
    """States and weights are kept in lists and added after the loop, in three ways."""

    def forward(self, xs):
        h, states, weights, p, n = torch.zeros(4), [], [], 0, 0
        while p < 1 and n < self.most:
            h = self.norm(self.cell(xs[-1], h))
            halting = torch.sigmoid(self.halt(h))
            states.append(h)
            weights.append(halting.item())
            p = p + halting.item()
            n += 1
        weights[-1] = 1 - sum(weights[:-1])
        added = sum(w * s for w, s in zip(weights, states, strict=True))
        return self.norm(added), self.norm((torch.tensor(weights).unsqueeze(-1) * torch.stack(states)).sum(0)), n


class LeftByReturn(Adaptive):
    """What has halted is a number at first and a tensor later, and so is what the loop returns."""

    def step(self, x, h):
        halted, total, n = 0.0, torch.zeros_like(h), 0
        while True:
            n += 1
            h = self.norm(self.cell(x, h))
            p = torch.sigmoid(self.halt(h))
            if float(halted + p) >= 1 or n == self.most:
                rest = 1.0 - halted
                return total + rest * h, n, n + rest
            total = total + p * h
            halted = halted + p

    def forward(self, xs):
        h, cost, steps = torch.zeros(4), torch.zeros(1), []
        for x in xs:
            h, n, ponder = self.step(x, h)
            cost = cost + ponder
            steps.append(n)
        return h, cost, steps


class LeftByReturnOfEither(LeftByReturn):
    """What has halted is compared as a tensor, so that it stays a number where it is one: the loop returns one or the other."""

    def step(self, x, h):  # noqa: RET503
        halted, total = 0.0, torch.zeros_like(h)
        for n in range(1, self.most + 1):
            h = self.norm(self.cell(x, h))
            p = torch.sigmoid(self.halt(h)).squeeze()
            if halted + p >= 0.6 or n == self.most:
                rest = 1.0 - halted
                return total + rest * h, n, n + rest
            total = total + p * h
            halted = halted + p


class OverPositions(Adaptive):
    """As a Universal Transformer: each position halts by itself, by masks; the loop goes on while one of them does."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, xs):
        x = torch.stack(xs)
        halted, before = torch.zeros(x.size(0)), torch.zeros_like(x)
        steps = 0
        while steps < self.most and bool((halted < 0.9).any()):
            seen, _ = self.attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0))
            x = self.norm(x + seen.squeeze(0))
            p = torch.sigmoid(self.halt(x)).squeeze(-1)
            going = (halted < 1).float()
            last = (halted + p * going > 0.9).float() * going
            weight = p * (going - last) + last * (1 - halted)
            halted = halted + weight
            before = before + weight.unsqueeze(-1) * x
            steps += 1
        return before, steps


GENERATOR = torch.Generator().manual_seed(3)
LISTS = [list(torch.randn(n, 4, generator=GENERATOR)) for n in (1, 3, 2, 4)]


MODELS = [WithRemainder, WithLists, LeftByReturn, LeftByReturnOfEither, OverPositions]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_interpreter(model) -> None:
    agrees(model(), LISTS)
