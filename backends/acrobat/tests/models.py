"""Small models, each for tests of one feature of the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch
from torch import Tensor, nn


class RecursiveBiRNN(nn.Module):
    """Gives the last states of both directions of a BiRNN. Both use one recursive function that takes weights as arguments."""

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


class Unequal(nn.Module):
    """A scan whose step has one product for a low number and three for a high one, and then one more in either case."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(8))
        self.embed = nn.Linear(8, 8)
        self.mix = nn.Linear(8, 8)
        self.step = nn.Linear(8, 8)

    def forward(self, numbers: list[int]) -> Tensor:
        state: Tensor = self.start
        for number in numbers:
            if number > 9:
                state = torch.tanh(self.step(torch.relu(self.mix(torch.sigmoid(self.embed(state))))))
            else:
                state = torch.tanh(self.step(state))
            state = torch.sigmoid(self.mix(state))
        return state


class DeepWaits(nn.Module):
    """A recursion that waits at every level before it descends, and adds a number to the count on its way back."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)
        self.start = nn.Parameter(torch.randn(4))
        self.score = nn.Linear(4, 1)

    def forward(self, n: int) -> tuple[Tensor, int]:
        return self.down(self.start, n)

    def down(self, x: Tensor, n: int) -> tuple[Tensor, int]:
        if n == 0:
            return x, 0
        above = torch.sigmoid(self.score(x)).item() > 0.5
        y, count = self.down(torch.tanh(self.step(x)) if above else torch.sigmoid(self.step(x)), n - 1)
        return y, count + int(above)


class WideWaits(nn.Module):
    """A list of independent calls, one for each number of the instance, each of which waits twice."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)
        self.start = nn.Parameter(torch.randn(4))
        self.score = nn.Linear(4, 1)

    def forward(self, numbers: list[int]) -> list[int]:
        return [self.child(number) for number in numbers]

    def child(self, number: int) -> int:
        x = torch.tanh(self.step(self.start * float(number)))
        if torch.sigmoid(self.score(x)).item() > 0.5:
            x = torch.tanh(self.step(x))
        return int(torch.sigmoid(self.score(x)).item() * 1000.0)


class LongTails(nn.Module):
    """A scan that waits at each positive number and does not wait at others."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(4))
        self.score = nn.Linear(4, 1)
        self.step = nn.Linear(4, 4)
        self.tail = nn.Linear(4, 4)

    def forward(self, numbers: list[int]) -> Tensor:
        x: Tensor = self.start
        for number in numbers:
            if number > 0:
                p = torch.sigmoid(self.score(x)).item()
                x = torch.tanh(self.step(x) + p)
            else:
                x = torch.tanh(self.tail(x))
        return x


Four: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Operands:
    vector: Annotated[Tensor, 40]
    matrix: Annotated[Tensor, 48, 40]
    odd: Annotated[Tensor, 3, 5]
    stack: Annotated[Tensor, 3, 2, 8, 24]
    one: Annotated[Tensor, 2, 24, 8]


class Products(nn.Module):
    """A product of each form: with a weight or of two operands; of vectors, of matrices with and without padding, of stacks
    that broadcast; with a bias and without."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(40, 100)
        self.bare = nn.Linear(40, 33, bias=False)
        self.odd = nn.Linear(5, 7)
        self.right = nn.Parameter(torch.randn(40, 52))
        self.column = nn.Parameter(torch.randn(40))
        self.left = nn.Parameter(torch.randn(30, 48))

    def forward(self, x: Operands) -> tuple[Four, Four, Tensor, Tensor, Tensor]:
        return (
            (self.wide(x.vector), self.bare(x.vector), x.vector @ self.right, x.matrix @ x.vector),
            (self.wide(x.matrix), self.bare(x.matrix), x.matrix @ self.right, self.left @ x.matrix),
            self.odd(x.odd),
            x.matrix @ self.column,
            x.stack @ x.one,
        )


@dataclass(frozen=True, slots=True)
class Twig:
    word: int
    twigs: list[Twig]


class Judged(nn.Module):
    """A recursion over a tree that waits at every node; siblings wait together."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.step = nn.Linear(4, 4)

    def forward(self, twig: Twig) -> Tensor:
        return self.judge(twig)

    def judge(self, twig: Twig) -> Tensor:
        below = [self.judge(t) for t in twig.twigs]
        x = torch.tanh(self.step(self.table.weight[twig.word] + sum(below, torch.zeros(4))))
        if x[0].item() > 0:
            x = x * 0.5
        return x


@dataclass(frozen=True, slots=True)
class Figures:
    whole: list[int]
    real: list[float]
    last: tuple[int, bool]


class Accounts(nn.Module):
    """Uses every operation on host numbers and lists, and no tensors."""

    def forward(self, f: Figures) -> tuple[list[int], list[float], list[bool], list[tuple[int, int, float]], tuple[int, int]]:
        a, flag = f.last
        b = f.whole[-1]
        x, y = f.real[0], f.real[1]
        whole = [a + b, a - b, a * b, a // b, a % b, -a, abs(a), min(a, b), max(a, b), a & b, a | b, a ^ b, a << 2, a >> 1]
        real = [x + y, x - a, x * y, a / b, x // y, x % y, -x, abs(x), min(x, y), max(x, y), float(a), float(flag), 0.5]
        truth = [a == b, a != b, a < b, a <= b, a > b, a >= b, x == y, x != a, x < y, x <= y, x > y, x >= y, not flag, bool(a)]
        truth.append(bool(x))
        for i in range(a, len(f.whole), 2):
            whole.append(-i)
        triples = [(i, n, r) for i, (n, r) in enumerate(zip(f.whole, f.real[1:], strict=False))]
        older, newer = 0, 1
        for n in f.whole[1:] + f.whole[::-1]:
            older, newer = newer, older + n
        while newer > 10:
            newer = newer - older if older > 0 else int(newer / 2)
        return whole, real, truth, triples, (older, newer)


class LinkedThatWaits(Linked):
    """As `Linked`, but each cell waits once for each of its tags."""

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
    """Never ends for kind 1 (loop that records), 2 (loop that does not), 3 (loop that waits) and 4 (recursion that waits)."""

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
    """A dataclass without slots, so that a subclass can have properties in place of fields."""

    value: Annotated[Tensor, 5]
    pair: tuple[int, float]
    rest: Item | None = None


class Items(nn.Module):
    """Uses arithmetic on ints and floats, and tensors whose length is no multiple of a vector register's."""

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
