"""Types that several rounds of compiling find: a round that lacks some of them causes no problems, and loses nothing."""

# mypy: ignore-errors
from __future__ import annotations

import functools
from pathlib import Path
from textwrap import indent

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.program import ProgramBuilder
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 3)

    def forward(self, x, h):
        return torch.tanh(self.lin(torch.cat((x, h))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.word = nn.Embedding(8, 3)
        self.lin = nn.Linear(3, 3)
        self.cells = nn.ModuleDict({"one": Cell(), "many": Cell()})


class StackedInADictionary(Model):
    """How many nodes there are is found late, as is whether the dictionary has a list for one: the choice has a type before."""

    def forward(self, words):
        kept = []
        for word in words:
            if all(word != k for k in kept):
                kept.append(word)
        nodes = [self.word.weight[word] for word in kept]
        incoming = {i: [] for i in range(len(nodes))}
        for i in range(len(nodes)):
            incoming[kept[i] % len(nodes)].append(self.lin(nodes[i]))
        refined = []
        for i, node in enumerate(nodes):
            message = torch.stack(incoming[i]).sum(0) if incoming[i] else torch.zeros_like(node)
            refined.append(torch.relu(self.lin(node + message)))
        return self.lin(torch.stack(refined)).argmax(dim=1).tolist(), torch.stack(refined).mean(dim=0)


class ReducedInAFunction(Model):
    """What the dictionary holds follows from the result of `reduce`, which has none without an element."""

    def combine(self, states):
        return functools.reduce(torch.add, states) / len(states)

    def forward(self, words):
        hidden = {}
        for i, word in enumerate(words):
            before = [hidden[k] for k in range(i) if words[k] < word]
            if len(before) == 0:
                hidden[i] = self.word.weight[word]
            else:
                kind = "many" if len(before) > 1 else "one"
                hidden[i] = self.cells[kind](self.word.weight[word], self.combine(before))
        return hidden[len(words) - 1]


class NoneUntilTheStackIsEmpty(Model):
    """The first trial round knows nothing of what is popped: that the result is None before the loop is not forgotten."""

    def forward(self, words):
        stack, result, i = [], None, 0
        while result is None:
            if i < len(words):
                stack.append(self.word.weight[words[i]])
                i += 1
            else:
                top = stack.pop()
                if stack:
                    stack[-1] = torch.tanh(self.lin(top)) + stack[-1]
                else:
                    result = top
        return result


class Bracket:
    def __init__(self, label):
        self.label = label
        self.children = []


class ComparedWithAnEmptyList(Model):
    """Lists of tensors are compared with `[]`: no elements are compared, so that no tensor's truth is asked for."""

    def forward(self, words):
        large = [self.word.weight[w] for w in words if w > 2]
        bracket = Bracket(words[0])
        filled = 0
        for w in words:
            if bracket.children != []:
                filled += 1
            bracket.children.append(self.word.weight[w])
        return large == [], large != [], words == [], [] == [], filled, bracket.children == []


@pytest.mark.parametrize("model", [StackedInADictionary, ReducedInAFunction, NoneUntilTheStackIsEmpty, ComparedWithAnEmptyList])
def test_as_in_eager_pytorch(model):
    instances = [[1, 2, 5, 3], [1], [4, 0, 4]]
    module = model()
    agrees(module, instances)


class FromRoot(nn.Module):
    """`i`, which a loop that may have no round assigns, holds what may be None in a later loop."""

    def forward(self, xs):
        root = None
        for i, x in enumerate(xs):
            if x < 0:
                root = i
        reached = {}

        def visit(k):
            reached[k] = 1

        visit(root)
        depth = {root: reached[root]}
        queue = [root]
        while queue:
            i = queue.pop(0)
            for c in range(i):
                depth[c] = reached[root] + depth[i]
        return depth[root], i


def test_what_is_not_assigned_on_all_paths_may_hold_none():
    agrees(FromRoot(), [[-1, 0], [1, -1, 1], [-1]])


class SplitWhereBest(Model):
    """What the chart holds follows from where the best split is, which is found by what the chart holds."""

    def forward(self, words):
        rows = self.word(torch.tensor(words)).sum(1)
        chart, orders = {}, []
        for size in range(1, len(words) + 1):
            for i in range(len(words) - size + 1):
                j = i + size
                if size == 1:
                    chart[i, j] = (rows[i], i, None)
                    continue
                split = max(range(i + 1, j), key=lambda k: (chart[i, k][0] - chart[k, j][0]).item())
                order = sorted(range(i + 1, j), key=lambda k: chart[i, k][0].item())
                orders.append(order)
                chart[i, j] = (torch.tanh(chart[i, split][0] + chart[split, j][0] + rows[i]), order[0], split)
        return chart[0, len(words)], orders


def test_the_best_of_what_is_compared_by_a_key_without_a_type_yet():
    agrees(SplitWhereBest(), [[1, 2, 3], [4], [5, 6, 7, 1, 2], [3, 0]])


class BackPointers(Model):
    """The dictionary is empty before the loop; its lists have (int, None) or (int, int) in them, which a round finds after the
    first has found the one with None alone."""

    def forward(self, words):
        back, best = {}, {}
        for end in range(1, len(words) + 1):
            scores, origins = [], []
            for start in range(max(0, end - 2), end):
                part = self.lin(self.word.weight[words[end - 1]])
                if start == 0:
                    scores.append(part)
                    origins.append([(0, None)] * 3)
                else:
                    value, previous = torch.max(best[start][:, None] + self.lin.weight, dim=0)
                    scores.append(value + part)
                    origins.append([(start, p) for p in previous.tolist()])
            best[end], which = torch.stack(scores).max(dim=0)
            back[end] = [origins[w][k] for k, w in enumerate(which.tolist())]
        segments = []
        end, k = len(words), int(best[len(words)].argmax())
        while end > 0:
            start, previous = back[end][k]
            segments.insert(0, (start, end, k))
            end, k = start, previous
        return segments, back[1], best[len(words)]


def test_a_dictionary_that_is_empty_before_the_loop_that_fills_it():
    agrees(BackPointers(), [[1, 2, 3], [4], [5, 6, 7, 1, 2], [3, 0]])


SOURCE = """import torch
from torch import nn
class M(nn.Module):
    def helped(self, x):
        return x.svd()
    def forward(self, xs):
"""

WITH_A_PROBLEM = {
    "in a loop": "t = torch.zeros(3)\nfor x in xs:\n    t = t + self.helped(x)\nreturn t",
    "in a loop that has no type": "t = []\nfor x in xs:\n    t.append(self.helped(x))\nreturn t",
    "in a loop over constants": "t = torch.zeros(3)\nfor i in range(2):\n    t = t + self.helped(xs[i])\nreturn t",
    "in a comprehension": "return [self.helped(x) for x in xs]",
    "on some paths": "t = torch.zeros(3)\nwhile t.sum() < 3:\n    t = t + (self.helped(t) if len(xs) > 2 else xs[0])\nreturn t",
}


@pytest.mark.parametrize("body", WITH_A_PROBLEM.values(), ids=WITH_A_PROBLEM)
def test_a_problem_in_a_function_is_reported_at_its_line(tmp_path: Path, body: str):
    """Also of one that is first, or only, called in a trial round of a loop."""
    module = load(tmp_path, SOURCE + indent(body, "        ") + "\n")
    with pytest.raises(CompileError) as error:
        build(module.M(), sample=[[torch.ones(3), torch.ones(3)]])
    assert "model.py:5:" in str(error.value), error.value
    assert "svd" in str(error.value), error.value


class PoppedTwice(Model):
    """The stack that `drop` is given has None in it first, and later a tensor: in each round it is called for both."""

    def drop(self, stack):
        return stack.pop()[0]

    def forward(self, words):
        stack = [(self.word.weight[0], None)]
        for word in words:
            stack.append((self.lin(stack[-1][0]), self.word.weight[word]))
        total = self.word.weight[1]
        while len(stack) > 1:
            total = total + self.drop(stack)
        return total


def test_calls_for_two_types_settle_as_soon_as_all_is_known(monkeypatch):
    rounds = []
    reset = ProgramBuilder.reset
    monkeypatch.setattr(ProgramBuilder, "reset", lambda builder: (rounds.append(1), reset(builder)))
    agrees(PoppedTwice(), [[1, 2, 3], [2]])
    assert 1 < len(rounds) <= 4  # one of them before the first round
