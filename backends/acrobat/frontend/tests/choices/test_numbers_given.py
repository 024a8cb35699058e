"""Results that are numbers for some instances and tensors for others: `loss = 0.0` before a loop over no words."""

# mypy: ignore-errors

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat import compile
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

SENTENCES = [[1, 2, 3], [], [5], [3, 3], [5, 6, 7, 3]]


@dataclass
class Output:
    loss: Any
    count: int


Pair = namedtuple("Pair", "loss count")


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(9, 6)
        self.out = nn.Linear(6, 4)

    def score(self, word):
        return F.log_softmax(self.out(self.table(torch.tensor(word))), -1)[word % 4]


class Bare(Scorer):
    def forward(self, words):
        loss = 0
        for w in words:
            loss = loss - self.score(w)
        return loss


class Skipping(Scorer):
    def forward(self, words):
        loss, total = 0.0, 1
        count = 0
        for w in words:
            if w == 3:
                continue
            loss -= self.score(w)
            count += 1
            total = total * self.score(w)
        return {"loss": loss, "mean": loss / max(count, 1), "count": count}, total + loss


class Named(Scorer):
    def forward(self, words):
        loss: float = 0.0
        for w in words:
            loss = loss - self.score(w)
        mean = loss / max(1, len(words))
        result = {"loss": loss, "mean": mean}
        result["count"] = len(words)
        return result


class Several(Scorer):
    def forward(self, words):
        loss = 0
        if words and words[0] == 3:
            return loss, -1
        for w in words:
            loss = loss + self.score(w)
        if len(words) > 3:
            loss = 0
        return loss, len(words)


class Classed(Scorer):
    def forward(self, words):
        loss = 0.0
        for w in words:
            loss = loss - self.score(w)
        return Output(loss=loss, count=len(words)), Pair(loss * 2, len(words))


class Summed(Scorer):
    def forward(self, words):
        losses = [self.score(w) for w in words]
        others = []
        for w in words:
            if w != 3:
                others.append(self.score(w))
        return sum(losses), sum(others) / max(len(others), 1) if words else -1.0


class SummedWithoutName(Scorer):
    def forward(self, words):
        losses = sum(self.score(w) for w in words)
        mean = sum([self.score(w) * 2 for w in words if w != 3]) / max(len(words), 1)
        return {"first": self.score(4), "loss": losses, "mean": mean}, sum(self.score(w) for w in words) * 2


class SummedInTuple(Scorer):
    def forward(self, words):
        if len(words) > 3:
            return -sum(self.score(w) for w in words), len(words), self.score(1)
        return self.score(2), len(words), sum(self.score(w) for w in words) + sum(self.score(w) for w in words[1:])


class Wrong(Exception):
    pass


class Trying(Scorer):
    def checked(self, word):
        if word == 3:
            raise Wrong
        return self.score(word)

    def forward(self, words):
        loss = 0
        last = 0.0
        for w in words:
            try:
                last = self.checked(w)
            except Wrong:
                continue
            loss = loss + last
        return loss


class Numbers(Scorer):
    def forward(self, words):
        cost = 0
        for w in words:
            cost += w + float(self.score(w))
        return self.table.weight[0], cost


class Annotated(Scorer):
    def forward(self, words: list[int]) -> torch.Tensor:
        loss = 0.0
        for w in words:
            loss = loss - self.score(w)
        return loss


def check_interpreted(model):
    """The interpreter gives what eager PyTorch gives: numbers where it gives numbers, of which some results have tensors."""
    interpreter = Interpreter(build(model, sample=SENTENCES))
    with torch.no_grad():
        expected = [model(s) for s in SENTENCES]
    results = [as_tensors(interpreter.run(s)) for s in SENTENCES]
    kinds = [*map(shape_of, expected)]
    assert len({*map(str, kinds)}) > 1, "some results have numbers where others have tensors"
    assert [*map(shape_of, results)] == kinds
    for result, one in zip(results, expected, strict=True):
        assert_same(result, one, "an instance")


def check(model, sentences=SENTENCES):
    """The results of eager PyTorch in every type and value, with all sentences in one mini-batch and each alone."""
    executable = compile(model, sample=sentences)
    with torch.no_grad():
        expected = [model(s) for s in sentences]
    kinds = [shape_of(r) for r in expected]
    assert len({*map(str, kinds)}) > 1, "some results have numbers where others have tensors"
    results = executable(sentences)
    assert [shape_of(r) for r in results] == kinds
    assert_same(results, expected, "the mini-batch")
    assert [shape_of(executable([s])[0]) for s in sentences] == kinds


def shape_of(result):
    """The types of all parts of a result, and the values of numbers."""
    match result:
        case dict():
            return {k: shape_of(v) for k, v in result.items()}
        case tuple():
            return type(result).__name__, [*map(shape_of, result)]
        case Output():
            return Output, shape_of(result.loss), shape_of(result.count)
        case torch.Tensor():
            return torch.Tensor
        case list():
            return [*map(shape_of, result)]
        case None:
            return None
    return type(result), result if isinstance(result, int) else round(result, 4)


@pytest.mark.parametrize(
    "model", [Bare, Skipping, Named, Several, Classed, Summed, SummedWithoutName, SummedInTuple, Trying, Numbers, Annotated]
)
def test_numbers_are_returned_where_pytorch_returns_numbers(model):
    check(model())


class Helped(Scorer):
    """What another function returns is a tensor where it is computed with for something else than the result."""

    def loss(self, words):
        total = 0.0
        for w in words:
            total = total + self.score(w)
        return total

    def forward(self, words):
        total = self.score(1)
        for w in words:
            total = total + self.loss([w, w]) + self.loss([])
        return total


def test_results_of_other_functions_are_tensors():
    sentences = [[1, 2], [], [5]]
    results = compile(Helped(), sample=sentences)(sentences)
    with torch.no_grad():
        assert_same(results, [Helped()(s) for s in sentences], "the mini-batch")


class WithOwnSum(Scorer):
    """`sum` is not Python's here."""

    def forward(self, words):
        sum = self.joined
        total = sum(self.score(w) for w in words)
        return total, len(words)

    def joined(self, scores):
        return torch.stack([torch.zeros(()), *scores]).sum()


def test_an_own_function_that_is_called_sum_is_called_for_nothing_too():
    model = WithOwnSum()
    executable = compile(model, sample=SENTENCES)
    with torch.no_grad():
        assert_same(executable(SENTENCES), [model(s) for s in SENTENCES], "the mini-batch")
