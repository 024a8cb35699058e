"""Models whose `forward` calls itself, as `self.forward(child)` or `self(child)`, with several representations of trees."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

HIDDEN, LABELS = 4, 7


@dataclass(frozen=True)
class Nary:
    label: int
    children: list[Nary]


@dataclass(frozen=True)
class Maybe:
    label: int
    left: Maybe | None
    right: Maybe | None


@dataclass(frozen=True)
class Leaf:
    label: int


@dataclass(frozen=True)
class Pair:
    left: Binary
    right: Binary


Binary: TypeAlias = Leaf | Pair


class TreeRNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(LABELS, HIDDEN)
        self.w = nn.Linear(HIDDEN, HIDDEN)
        self.u = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.v = nn.Linear(HIDDEN, HIDDEN, bias=False)


class Comprehension(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        hs = [self.forward(c) for c in n.children]
        return torch.tanh(self.w(self.e.weight[n.label]) + self.u(sum(hs, torch.zeros(4))))


class ComprehensionOfSelf(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        hs = [self(c) for c in n.children]
        return torch.tanh(self.w(self.e.weight[n.label]) + self.u(sum(hs, torch.zeros(4))))


class Folded(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        h = torch.zeros(4)
        for c in n.children:
            h = torch.tanh(self.u(h) + self.v(self.forward(c)))
        return torch.tanh(self.w(self.e.weight[n.label]) + h)


class FoldedSelf(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        h = self.w(self.e.weight[n.label])
        for c in n.children:
            h = h + self.u(self(c))
        return torch.tanh(h)


class Summed(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        below = sum((self.forward(c) for c in n.children), torch.zeros(4))
        return torch.tanh(self.w(self.e.weight[n.label]) + self.u(below))


class Optionals(TreeRNN):
    def forward(self, n: Maybe) -> Tensor:
        h = self.w(self.e.weight[n.label])
        if n.left is not None:
            h = h + self.u(self.forward(n.left))
        if n.right is not None:
            h = h + self.v(self(n.right))
        return torch.tanh(h)


class Matched(TreeRNN):
    def forward(self, n: Binary) -> Tensor:
        match n:
            case Leaf(label):
                return torch.tanh(self.w(self.e.weight[label]))
            case Pair(left, right):
                return torch.tanh(self.u(self(left)) + self.v(self(right)))


class Appended(TreeRNN):
    def forward(self, n: Nary) -> Tensor:
        hs = []
        for c in n.children:
            hs.append(self(c))
        if len(hs) == 0:
            return torch.tanh(self.w(self.e.weight[n.label]))
        return torch.tanh(self.u(torch.stack(hs).sum(0)))


class Mutual(TreeRNN):
    """`forward` recurs through another function, and works on its result."""

    def forward(self, n: Nary) -> Tensor:
        h = self.below(n)
        return torch.tanh(self.w(self.e.weight[n.label]) + self.v(h))

    def below(self, n: Nary) -> Tensor:
        return torch.sigmoid(self.u(sum([self.forward(c) for c in n.children], torch.zeros(4))))


class Waiting(TreeRNN):
    """The instance waits within its recursion. The number compared is far from the limit, so the decision never changes."""

    def forward(self, n: Nary) -> Tensor:
        hs = [self(c) for c in n.children]
        h = torch.tanh(self.u(sum(hs, torch.zeros(4))))
        if h.sum().item() > -100.0:
            h = h + self.w(self.e.weight[n.label])
        return torch.tanh(h)


NARY = (Comprehension, ComprehensionOfSelf, Folded, FoldedSelf, Summed, Appended, Mutual, Waiting)
MODELS: tuple[type[TreeRNN], ...] = (*NARY, Optionals, Matched)


def model(cls: type[TreeRNN], dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(3)
    return cls().to(dtype)


def instances(cls: type[TreeRNN], n: int, seed: int = 0) -> list[Any]:
    """Trees of very different depths, single nodes among them."""
    random = Random(seed)

    def nary(depth: int) -> Nary:
        return Nary(
            random.randrange(LABELS),
            [nary(depth - 1 - random.randrange(2)) for _ in range(random.randrange(4))] if depth > 0 else [],
        )

    def maybe(depth: int) -> Maybe | None:
        if depth < 0:
            return None
        sides = [maybe(depth - 1 - random.randrange(3)) for _ in range(2)]
        return Maybe(random.randrange(LABELS), *sides)

    def binary(depth: int) -> Binary:
        if depth <= 0:
            return Leaf(random.randrange(LABELS))
        return Pair(binary(depth - 1 - random.randrange(2)), binary(depth - 1 - random.randrange(2)))

    make = {Optionals: maybe, Matched: binary}.get(cls, nary)
    return [make(i % 6) for i in range(n)]
