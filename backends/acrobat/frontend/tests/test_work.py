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


class Elifs(nn.Module):
    """A branch in a branch in a branch would be compiled twice as often as the one around it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(12))

    def forward(self, words):
        x = torch.ones(2)
        for w in words:
            if w == 0:
                x = self.layers[0](x)
            elif w == 1:
                x = self.layers[1](x) + 1.0
            elif w == 2:
                x, w = self.layers[2](x), 7
            elif w == 3:
                x = self.layers[3](x) * 2.0
            elif w == 4:
                y = self.layers[4](x)
                x = y + y
            elif w == 5:
                x = self.layers[5](x)
            elif w == 6:
                pass
            elif w == 7:
                x = self.layers[7](x).relu()
            elif w < 0:
                raise ValueError(f"no word {w}")
            else:
                x = self.layers[w % 12](x)
            x = x + float(w)
        return x


def test_elif_is_compiled_as_often_as_if(monkeypatch):
    monkeypatch.setattr(work, "MOST", 2000)
    agrees(Elifs(), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 30], []])


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
