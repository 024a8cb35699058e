"""Results with objects and dictionaries that are changed while several names refer to them, or that have shared lists in them
(`evaluator/containers/given_out.py`), and `copy.copy` of such objects. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(8, 4)


class Node:
    def __init__(self, label, h):
        self.label = label
        self.h = h
        self.children = []
        self.parent = None
        self.count = 0


def by_name(value):
    """A result with dictionaries in place of objects, which say of which class these are."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(by_name, value))
    if isinstance(value, dict):
        return {k: by_name(v) for k, v in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        return {"class": type(value).__name__, **{k: by_name(v) for k, v in vars(value).items()}}
    return as_tensors(value)


class Tree:
    """A node of a tree that a parser builds."""

    def __init__(self, label):
        self.label = label
        self.children = []
        self.head = None
        self.score = torch.zeros(4)


class Parses(Base):
    def forward(self, xs):
        root = Tree(-1)
        stack = [root]
        for x in xs:
            node = Tree(x)
            stack[-1].children.append(node)
            node.score = self.emb.weight[x] + stack[-1].score
            stack[-1].head = x
            if x % 2 == 0 and len(stack) > 1:
                stack.pop()
            else:
                stack.append(node)
        return root, len(stack)


@dataclass
class Candidate:
    words: list
    score: float = 0.0


class Best(Base):
    """The best candidate is in the result twice, and changed by either name."""

    def forward(self, xs):
        best, candidates = Candidate([], -1.0), []
        for x in xs:
            candidate = Candidate([x], float(x))
            candidates.append(candidate)
            if candidate.score > best.score:
                best = candidate
        for candidate in candidates:
            candidate.words.append(0)
        best.score += 0.5
        return {
            "best": best,
            "all": candidates,
            "named": {c.words[0]: c for c in candidates},
            "first": (candidates or [best])[0],
        }


class Word:
    def __init__(self, word):
        self.word = word
        self.seen = 0


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right
        self.seen = 0


class TwoClasses(Base):
    """Objects of two classes, each with what it has in its attributes."""

    def forward(self, xs):
        stack = []
        for x in xs:
            stack.append(Word(x))
            stack[0].seen += 1
            if len(stack) > 1 and x < 5:
                right, left = stack.pop(), stack.pop()
                left.seen += 10
                stack.append(Pair(left, right))
        return stack


@dataclass
class Holder:
    """It has objects in it that are changed under several names, and others of its own class."""

    node: Tree
    below: list[Holder]


class Held(Base):
    def forward(self, xs):
        nodes, holders = [], []
        for x in xs:
            nodes.append(Tree(x))
            holders = [Holder(nodes[-1], holders)]
        for node in nodes:
            node.label += 1
            nodes[0].head = node.label
        return holders


class CopiedObjects(Base):
    """A copy is another object with the same list in it."""

    def forward(self, xs):
        a = Node(xs[0], self.emb.weight[xs[0]])
        b = a
        b.label += 1
        c = copy.copy(a)
        c.label += 1
        copies = [copy.copy(c) for _ in xs]
        copies[0].label = 100
        for x in xs:
            a.count += x
        return a.label, b.label, c.label, [x.label for x in copies], a.count, c.count, a is b, a is c


class BesideNumbers(Base):
    def forward(self, xs):
        out = []
        for x in xs:
            candidate = Candidate([x], 0.5)
            out.append(candidate if x % 2 else x)
            candidate.score += x
        return out, {"first": out[0]}


@dataclass
class Track:
    number: int
    state: torch.Tensor
    hits: int = 1
    misses: int = 0

    @property
    def confirmed(self):
        return self.hits >= 2

    def matched(self, state):
        self.state = state
        self.hits += 1
        self.misses = 0


class Tracker(Base):
    """The result has a list of objects of which nothing is known when the dictionary around it is met first."""

    def new_track(self, number, x):
        return Track(number, torch.tanh(self.emb.weight[x]))

    def forward(self, xs):
        tracks, finished, history = [], [], []
        for x in xs:
            for t, track in enumerate(tracks):
                if (t + x) % 2:
                    track.matched(track.state + self.emb.weight[x])
                else:
                    track.misses += 1
            for number in range(x % 3):
                tracks.append(self.new_track(number, x))
            finished += [track for track in tracks if track.misses > 1 and track.confirmed]
            tracks = [track for track in tracks if track.misses <= 1]
            history.append([track.number for track in tracks])
        everything = finished + [track for track in tracks if track.confirmed]
        return {"tracks": sorted(everything, key=lambda track: track.number), "alive": history}


MODELS = [BesideNumbers, Parses, Best, TwoClasses, Held, CopiedObjects, Tracker]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    interpreter = Interpreter(build(model().eval(), sample=LISTS))
    with torch.no_grad():
        for xs in LISTS:
            assert_same(by_name(interpreter.run(xs)), by_name(model()(xs)), f"{xs}")


@pytest.mark.parametrize("model", [Parses, TwoClasses, Tracker])
def test_natively(model, tmp_path: Path):
    executable = compile(model().eval(), sample=LISTS, checked=True, cache_folder=tmp_path)
    with torch.no_grad():
        for mine, xs in zip(executable(LISTS), LISTS, strict=True):
            assert_same(by_name(mine), by_name(model()(xs)), f"{xs}")


class Returned(Base):
    def forward(self, xs):
        nodes = [Node(x, self.emb.weight[x]) for x in xs]
        nodes[0].parent = nodes[-1]
        nodes[-1].label = 3
        return nodes


def test_a_result_that_leads_back_to_itself() -> None:
    program = build(Returned().eval(), sample=[[1, 2, 3]])
    assert [node.label for node in Interpreter(program).run([1, 2])] == [1, 3]
    with pytest.raises(InstanceError, match="the result has an object in it that leads back to itself"):
        Interpreter(program).run([1])
