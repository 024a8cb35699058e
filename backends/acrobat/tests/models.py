"""Models for single questions about the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch
from torch import Tensor, nn


class RecursiveBiRNN(nn.Module):
    """The last states of both directions of a BiRNN, by one recursive function that takes the weights as arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.forward_start = nn.Parameter(torch.randn(8))
        self.forward_cell = nn.Linear(16, 8)
        self.backward_start = nn.Parameter(torch.randn(8))
        self.backward_cell = nn.Linear(16, 8)

    def forward(self, sentence: list[int]) -> tuple[Tensor, Tensor]:
        words = [self.embedding.weight[word] for word in sentence]
        forwards = self.scan(self.forward_cell.weight, self.forward_cell.bias, self.forward_start, words)
        backwards = self.scan(self.backward_cell.weight, self.backward_cell.bias, self.backward_start, words[::-1])
        return forwards, backwards

    def scan(self, weight: Tensor, bias: Tensor, state: Tensor, xs: list[Tensor]) -> Tensor:
        if len(xs) == 0:
            return state
        new = torch.sigmoid(nn.functional.linear(torch.cat((xs[0], state)), weight, bias))
        return self.scan(weight, bias, new, xs[1:])


class Endless(nn.Module):
    """Recursion that ends for even numbers only."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)
        self.start = nn.Parameter(torch.zeros(4))

    def forward(self, n: int) -> Tensor:
        return self.down(self.start, n)

    def down(self, x: Tensor, n: int) -> Tensor:
        if n == 0:
            return x
        return self.down(torch.tanh(self.step(x)), n - 2)


@dataclass(frozen=True, slots=True)
class Cell:
    """An element of a linked list, with one field of every kind."""

    value: Annotated[Tensor, 4]
    flag: bool
    rate: float
    count: int
    tags: list[int]
    rest: Cell | None


Chain: TypeAlias = Cell | None


class Linked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.step = nn.Linear(4, 4)
        self.start = nn.Parameter(torch.zeros(4))

    def forward(self, chain: Cell) -> Tensor:
        return self.walk(chain)

    def walk(self, chain: Cell | None) -> Tensor:
        if chain is None:
            return self.start
        below = self.walk(chain.rest)
        x = torch.tanh(self.step(chain.value + below))
        if chain.flag:
            x = x * chain.rate
        for tag in chain.tags:
            x = x + self.table.weight[tag]
        return x + float(chain.count)


class LinkedThatWaits(Linked):
    """The same sums; each cell waits, with the cells after it and those of other instances."""

    def walk(self, chain: Cell | None) -> Tensor:
        if chain is None:
            return self.start
        below = self.walk(chain.rest)
        x = torch.tanh(self.step(chain.value + below))
        if chain.flag:
            x = x * chain.rate
        for row in [self.row(tag, x) for tag in chain.tags]:
            x = x + row
        return x + float(chain.count)

    def row(self, tag: int, x: Tensor) -> Tensor:
        if x.sum().item() > 1e30:
            return x
        return self.table.weight[tag]


class Unending(nn.Module):
    """What never ends, by kind: 1 a loop that records, 2 one that does not, 3 a loop that waits, 4 recursion that waits."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)
        self.start = nn.Parameter(torch.zeros(4))

    def forward(self, kind: int) -> Tensor:
        x: Tensor = self.start
        while kind == 1:
            x = torch.tanh(self.step(x))
        round = 0
        while kind == 2 and round >= 0:
            round = round ^ 1
        while kind == 3:
            x = self.next(x)
        return self.down(x + float(round), 1 if kind == 4 else 2)

    def down(self, x: Tensor, n: int) -> Tensor:
        if n == 0:
            return x
        return self.down(self.next(x), n - 2)

    def next(self, x: Tensor) -> Tensor:
        if self.step(x).sum().item() > 1e30:
            return self.start
        return torch.tanh(self.step(x))


@dataclass
class Item:
    """With no slots, so that a subclass may have properties in place of its fields."""

    value: Annotated[Tensor, 5]
    pair: tuple[int, float]
    rest: Item | None = None


class Items(nn.Module):
    """Arithmetic on ints and floats, and rows that are no multiple of a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(5, 5)
        self.start = nn.Parameter(torch.zeros(5))

    def forward(self, item: Item) -> Tensor:
        return self.walk(item)

    def walk(self, item: Item | None) -> Tensor:
        if item is None:
            return self.start
        a, b = item.pair
        return torch.tanh(self.step(item.value + self.walk(item.rest))) * b + float(a * a) + float(7 // a) + float(int(b)) / b
