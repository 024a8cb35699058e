"""Results that PyTorch gives as numbers where nothing was added, and that no rule of the source finds: what the program has is
followed to the result, and numbers are kept beside tensors where it may get there. Against eager PyTorch, which has instances
with no word, with one and with several."""

# mypy: ignore-errors

from __future__ import annotations

import functools
from collections import defaultdict

import pytest
import torch

from backends.acrobat.frontend.program import NumbersAsTensors, ProgramBuilder
from backends.acrobat.frontend.tests.choices.test_numbers_given import SENTENCES, Named, Scorer, Summed, SummedInTuple, shape_of
from backends.acrobat.frontend.tests.choices.test_sums_of_helpers import Penalties
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


class OfGenerator(Penalties):
    def each(self, words):
        for w in words:
            yield self.penalty(w)

    def forward(self, words):
        return sum(self.each(words))


class OfLambda(Scorer):
    def forward(self, words):
        total = lambda xs: sum(self.score(w) for w in xs)  # noqa: E731
        return {"all": total(words), "rest": total(words[1:]) / 2}


class OfLambdaOfHelper(Penalties):
    def forward(self, words):
        total = lambda xs: sum(self.penalty(w) for w in xs)  # noqa: E731
        return total(words)


class Reduced(Scorer):
    def forward(self, words):
        return functools.reduce(lambda total, w: total + self.score(w), words, 0.0)


class ReducedOfHelper(Penalties):
    def forward(self, words):
        return functools.reduce(lambda total, w: total + self.penalty(w), words, 0)


class Next(Scorer):
    def forward(self, words):
        return next((self.score(w) for w in words if w != 3), 0.0)


class Largest(Scorer):
    def forward(self, words):
        return max([self.score(w) for w in words], default=0.0), len(words)


class SmallestOfHelper(Penalties):
    def forward(self, words):
        return min((self.penalty(w) for w in words), default=-1)


class LargestOfSums(Scorer):
    def forward(self, words):
        scores = {w: sum(self.score(v) for v in words if v < w) for w in words}
        return max(scores.values(), default=0.0), min([sum(self.score(v) for v in words[i:]) for i in (0, 2)])


class SummedAndGiven(Penalties):
    def forward(self, words):
        losses = []
        for w in words:
            losses.append(self.penalty(w))
        return sum(losses), losses


class DictionaryOfSums(Scorer):
    def forward(self, words):
        return {k: sum(self.score(w) for w in words if w > k) for k in (2, 4)}


class DictionaryOfSumsOfHelper(Penalties):
    def forward(self, words):
        return {w: sum(self.penalty(v) for v in words if v < w) for w in words}


class ListOfSums(Scorer):
    def forward(self, words):
        return [sum(self.score(w) for w in words[i:]) for i in range(len(words) + 1)]


class Nonlocal(Scorer):
    def forward(self, words):
        total = 0.0

        def add(word):
            nonlocal total
            total = total + self.score(word)

        for w in words:
            add(w)
        return total


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total = self.total + value
        self.count += 1

    @property
    def mean(self):
        return self.total / max(self.count, 1)


class InObject(Scorer):
    def forward(self, words):
        meter = Meter()
        for w in words:
            meter.add(self.score(w))
        return meter.total, meter.mean, meter.count


class InAttribute(Scorer):
    def forward(self, words):
        self.loss = 0.0
        for w in words:
            self.loss = self.loss + self.score(w)
        return self.loss


class OnesAndTensors(Scorer):
    def forward(self, words):
        total = 0.0
        for w in words:
            if w == 3:
                total += 1
            else:
                total += self.score(w)
        return total


class CountsAndTensors(Scorer):
    def forward(self, words):
        total = 0
        for w in words:
            total = total + len(words) if w == 3 else total * self.score(w)
        return {"total": total}


class Looked(Scorer):
    def forward(self, words):
        scores = {w: self.score(w) for w in words}
        return scores.get(3, 0.0), scores.get(5)


class ByDefault(Scorer):
    def forward(self, words):
        totals = defaultdict(float)
        for w in words:
            totals[w % 2] = totals[w % 2] + self.score(w)
        return totals[0], totals[1]


class Signed(Scorer):
    def forward(self, words):
        total = 0.0
        for w in words:
            total = total - self.score(w)
        return abs(total), total**2, -total, (total * total) ** 0.5


class Swapped(Scorer):
    def forward(self, words):
        one, other = 0.0, 1.0
        for w in words:
            one, other = other, one + self.score(w)
        return one, other


class ByParameter(Scorer):
    def added(self, words, total=0.0):
        if not words:
            return total
        return self.added(words[1:], total + self.score(words[0]))

    def forward(self, words):
        return self.added(words)


class InLists(Scorer):
    def forward(self, words):
        totals = [0.0, 0.0]
        for w in words:
            totals[w % 2] = totals[w % 2] + self.score(w)
        return totals


class ComparedWithNone(Scorer):
    def forward(self, words):
        row, count = [None if w == 3 else w / 2 if w % 2 else w for w in words], 0
        for x in row:
            if x == 6 or x != 2.5:
                count += 1
        return [sum(self.score(w) for w in words)], count, row.count(6), row.count(None)


class WhileAny(Scorer):
    def forward(self, words):
        best, i = 0.0, 0
        while i < len(words) and words[i] != 3:
            best = self.score(words[i])
            i += 1
        return best * 2, i


MODELS = [
    OfGenerator,
    OfLambda,
    OfLambdaOfHelper,
    Reduced,
    ReducedOfHelper,
    Next,
    Largest,
    SmallestOfHelper,
    LargestOfSums,
    SummedAndGiven,
    DictionaryOfSums,
    DictionaryOfSumsOfHelper,
    ListOfSums,
    Nonlocal,
    InObject,
    InAttribute,
    OnesAndTensors,
    CountsAndTensors,
    Looked,
    ByDefault,
    Signed,
    Swapped,
    ByParameter,
    InLists,
    WhileAny,
    ComparedWithNone,
]


@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_kept_on_their_way_to_the_result(model):
    module = model().eval()
    with torch.no_grad():
        assert len({str(shape_of(module(s))) for s in SENTENCES}) > 1, "some results have numbers where others have tensors"
    agrees(module, SENTENCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.exhaustive] if i % 3 else []) for i, m in enumerate(MODELS)]
)
def test_numbers_are_kept_on_their_way_to_the_result_natively(model, codegen, tmp_path):
    agrees_natively(model().eval(), SENTENCES, codegen, tmp_path)


def test_the_number_is_named_where_numbers_are_not_kept():
    with pytest.raises(NumbersAsTensors, match=r"is a number in PyTorch for some instances and a tensor for others") as told:
        ProgramBuilder(Nonlocal().eval()).build(sample=SENTENCES)
    (problem,) = told.value.problems
    assert "torch.zeros(())" in problem.advice
    assert "for w in words:" in str(problem)


class Beyond(Scorer):
    """Numbers that become tensors, of which only tensors are computed."""

    def forward(self, words):
        total, others = 0.0, 0
        for w in words:
            total, others = total + self.score(w), others + self.table.weight[w]
        return torch.stack([total, self.score(1)]), torch.tanh(total + self.score(2)), others + self.table.weight[0]


@pytest.mark.parametrize("model", [Beyond, Named, Summed, SummedInTuple])
def test_one_build_is_enough_where_no_number_gets_to_the_result_unseen(model):
    ProgramBuilder(model().eval()).build(sample=SENTENCES)
