"""Looking up missing keys in a `defaultdict` to which several names refer: one that a function or a nested one is given."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

HEADS = [[0], [2, 0], [0, 1, 1], [2, 3, 0, 5, 3], [0, 1, 2, 3], [3, 3, 0, 3]]
"""For each word the number of the one that it depends on, from 1 on; 0 for the root."""


class Downwards(nn.Module):
    """A method that calls itself and looks for children in what it is given."""

    def __init__(self):
        super().__init__()
        self.emb, self.cell = nn.Embedding(8, 3), nn.Linear(3, 3)

    def visit(self, at, children, states):
        for child in children[at]:
            self.visit(child, children, states)
        if len(children[at]) == 0:
            h = torch.zeros(3)
        else:
            first, second = zip(*(states[k] for k in children[at]), strict=False)
            h = torch.stack(first).sum(0) + torch.stack(second).mean(0)
        h = torch.tanh(self.cell(self.emb.weight[at] + h))
        states[at] = (h, h * 2)
        return h

    def forward(self, heads):
        children = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        states = {}
        out = [self.visit(root, children, states) for root in children[0]]
        return torch.stack(out).sum(0), len(states)


class Sizes(nn.Module):
    def forward(self, at, children):
        return 1 + sum(self.forward(k, children) for k in children[at])


class InAnotherModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = Sizes()

    def forward(self, heads):
        children: Any = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        return [self.sizes(root, children=children) for root in children[0]], self.counted(2, children)

    def counted(self, at, children):
        return len(children[at])


class Inside(nn.Module):
    """A nested function that looks up what the function around it has filled, and one that another method has filled."""

    def groups(self, heads):
        found, last = defaultdict(list), None
        for i, head in enumerate(heads, start=1):
            found[head].append(i)
            last = head
        return found, last

    def forward(self, heads):
        labels = defaultdict(int)
        for i in range(len(heads)):
            if i % 2:
                labels[i] = 10 * i
        children, last = self.groups(heads)

        def depth(at):
            below = [depth(k) for k in children[at]]
            return labels[at] + 1 + (max(below) if below else 0)

        return depth(0), last, depth(last)


class ByOtherNames(nn.Module):
    """The dictionary has another name, and one that is chosen."""

    def count(self, table, i):
        same = table
        return len(same[i]) + len(same[i + 100])

    def forward(self, heads):
        near, far = defaultdict(set), defaultdict(set)
        for i, head in enumerate(heads):
            if abs(head - i) < 2:
                near[head].add(i)
            else:
                far[head].add(i)
        used = near if len(heads) > 2 else far
        return self.count(used, 0) + self.count(near, 1)


class OfTwoKinds(nn.Module):
    """That one dictionary is seen whole says nothing of another one with other missing values."""

    def leaves(self, children, n):
        return [i for i in range(n) if not children[i]]

    def forward(self, heads):
        children, degree = defaultdict(list), defaultdict(int)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
            degree[head] += 1
        return self.leaves(children, len(heads)), len(degree), degree


class OfOtherTypes(nn.Module):
    """One dictionary is walked over; others, that functions are given, have lists of tuples or strings in place of tensors."""

    def near(self, edges, at):
        return [label for label, _ in edges[at]]

    def tables(self, heads):
        names = defaultdict(list)
        for head in heads:
            names[head].append(f"word {head}")
        return names

    def forward(self, heads):
        edges = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            edges[head].append((i, 0.5))
        by_head = defaultdict(list)
        for head in heads:
            by_head[head].append(torch.ones(2) * head)
        names = self.tables(heads)
        found = [(self.near(edges, i), [name.upper() for name in self.of(names, i)]) for i in range(4)]
        return found, {head: torch.stack(rows).sum(0) for head, rows in by_head.items()}, len(by_head)

    def of(self, names, at):
        return names[at]


@pytest.mark.parametrize("model", [Downwards, InAnotherModule, Inside, ByOtherNames, OfTwoKinds, OfOtherTypes])
def test_nobody_sees_the_key(model: Any) -> None:
    agrees(model(), HEADS)


class AskedAfterwards(nn.Module):
    def size(self, children, at):
        return 1 + sum(self.size(children, k) for k in children[at])

    def forward(self, heads):
        children = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        return self.size(children, 0), len(children)


class GivenBack(AskedAfterwards):
    def forward(self, heads):
        children = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        return self.size(children, 0), children


class AskedByAnother(AskedAfterwards):
    def has(self, table, key):
        return key in table

    def forward(self, heads):
        children = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        return self.size(children, 0), self.has(children, len(heads))


class Kept:
    def __init__(self):
        self.near = defaultdict(list)


class SeenInItsPlace(nn.Module):
    def forward(self, heads):
        kept = Kept()
        for i, head in enumerate(heads, start=1):
            kept.near[head].append(i)
        near = kept.near
        found = len(near[len(heads)])
        return found, len(kept.near)


class InResultOfObject(nn.Module):
    def forward(self, heads):
        kept = Kept()
        for i, head in enumerate(heads, start=1):
            kept.near[head].append(i)
        near = kept.near
        return len(near[len(heads)]), kept


class AsFloats(nn.Module):
    """The dictionary has ints where the function looks a key up, and floats where all of it is seen."""

    def total(self, children, at):
        return sum(children[at])

    def forward(self, heads):
        children = defaultdict(list)
        for i, head in enumerate(heads, start=1):
            children[head].append(i)
        found = self.total(children, len(heads) + 7)
        children[0].append(0.5)
        return found, len(children)


@pytest.mark.parametrize("model", [AskedAfterwards, GivenBack, AskedByAnother, SeenInItsPlace, InResultOfObject, AsFloats])
def test_somebody_sees_the_key(model: Any) -> None:
    interpreter = Interpreter(build(model(), sample=HEADS))
    with pytest.raises(InstanceError, match="looking up a missing key in this defaultdict enters it"):
        interpreter.run([0, 1, 1])
