"""Models of which a few lines would be compiled without an end."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import frontend
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build, work
from backends.acrobat.tests.zoo.check import agrees

SENTENCES = [[1, 2], [3]]


class Unrolled(nn.Module):
    """Three loops that pick modules, each inside of the one before."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(layers))

    def forward(self, words):
        x = torch.zeros(2)
        for a in self.layers:
            for b in self.layers:
                for c in self.layers:
                    x = a(x) + b(x) * c(x)
        return x


class Branches(nn.Module):
    """What follows each of these branches would be compiled in both of its arms that go on, if these were not merged."""

    def forward(self, words):
        n = 0
        for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20):
            if len(words) > k:
                n += words[k]
                if n > 100:
                    return n
            else:
                n -= 1
        return n


def test_what_multiplies_is_refused_at_its_line(monkeypatch):
    monkeypatch.setattr(work, "MOST", 2000)
    with pytest.raises(CompileError, match=r"this is compiled \d+ times, and no end is in sight") as caught:
        build(Unrolled(60).eval(), sample=SENTENCES)
    assert "x = a(x) + b(x) * c(x)" in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("model", [Unrolled(8), Branches()], ids=["layers", "branches"])
def test_a_model_with_many_layers_or_branches_is_compiled(model, monkeypatch):
    monkeypatch.setattr(work, "MOST", 2000)
    build(model.eval(), sample=SENTENCES)


def test_many_branches_agree_with_eager():
    agrees(Branches(), [[60, 3, 50], [1], [5, -4, 20, 70, 30, 7], list(range(25)), []])


class Leaf:
    def __init__(self, value):
        self.value = value


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


class OfTwoClasses(nn.Module):
    """An attempt meets objects of two classes in one place, and the next one begins with their union."""

    def forward(self, words):
        made = [Leaf(words[0])]
        for word in words[1:]:
            made.append(Pair(made[-1], Leaf(word)))
        return len(made)


def test_attempts_that_meet_something_new_each_time(monkeypatch):
    build(OfTwoClasses().eval(), sample=SENTENCES)
    monkeypatch.setattr(frontend, "ATTEMPTS", 1)
    with pytest.raises(
        CompileError, match="each of 1 attempts of OfTwoClasses meets values of types of which the one before did"
    ):
        build(OfTwoClasses().eval(), sample=SENTENCES)


class Parser(nn.Module):
    """Reads trees of tuples, with tensors as leaves, off a text: the types of what `parse` gives are inside of each other in
    ever more ways."""

    def parse(self, tokens: Any, pos: Any) -> Any:
        if tokens[pos].isdigit():
            return torch.tensor(float(tokens[pos])), pos + 1
        op, pos = tokens[pos], pos + 1
        args = []
        while tokens[pos] != "]":
            arg, pos = self.parse(tokens, pos)
            args.append(arg)
        return (op, args), pos + 1

    def total(self, tree: Any) -> Any:
        if isinstance(tree, torch.Tensor):
            return tree
        _, args = tree
        return sum(self.total(a) for a in args)

    def forward(self, text: Any) -> Any:
        tree, _ = self.parse(text.split(), 0)
        return self.total(tree)


@pytest.mark.parametrize(("most", "message"), [(4000, "does not keep its type|differ in type"), (3, "in ever more ways")])
def test_types_that_grow_without_end_are_refused(monkeypatch: pytest.MonkeyPatch, most: int, message: str) -> None:
    monkeypatch.setattr(work, "MOST_JOINED", most)
    with pytest.raises(CompileError, match=message):
        build(Parser(), sample=["( 1 2 ]", "( 3 ( 1 ] ]", "5"])
