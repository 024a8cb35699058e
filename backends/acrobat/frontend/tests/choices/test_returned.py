"""Results that are numbers where one `return` of `forward` gives a number, and tensors where another one gives a tensor."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch

from backends.acrobat.frontend.tests.choices.test_numbers_given import (
    Output,
    Pair,
    Scorer,
    check,
    check_interpreted,
)


class BesideNone(Scorer):
    def total(self, scores):
        return sum(scores)

    def forward(self, words):
        scores = []
        for w in words:
            scores.append(self.score(w))
        if not scores:
            return None, 0.0
        return torch.stack(scores), self.total(scores)


class Alone(Scorer):
    def forward(self, words):
        if not words:
            return 0.0
        return self.score(words[0])


class OrNothing(Scorer):
    def forward(self, words):
        if not words:
            return 1
        if words[0] == 3:
            return None
        return self.score(words[0])


class OutOfLoop(Scorer):
    def forward(self, words):
        for i, w in enumerate(words):
            if w == 3:
                return self.score(w), i
        return len(words), 0.5


class OfBothKinds(Scorer):
    """Ints, floats and tensors in one place; one of them is a name that holds a number at first."""

    def forward(self, words):
        total = 0
        for w in words:
            total = total + self.score(w)
            if w == 7:
                return total, (-1.5, total)
        if len(words) == 3:
            return 7, (self.score(1), 2)
        return total, (total, 0)


class InDictionary(Scorer):
    def forward(self, words):
        if not words:
            return {"loss": 0.0, "count": 0}
        return {"loss": self.score(words[0]), "count": len(words)}


class InObject(Scorer):
    def forward(self, words):
        if not words:
            return Output(0.0, count=0)
        return Output(count=len(words), loss=self.score(words[0]))


class InNamedTuple(Scorer):
    def forward(self, words):
        if not words:
            return Pair(0.0, 0)
        return Pair(self.score(words[0]), len(words))


class InLists(Scorer):
    def forward(self, words):
        if not words:
            return [0.0, 1.0], 0
        return [self.score(w) for w in words], 1


class UnderOneName(Scorer):
    def forward(self, words):
        if not words:
            result = None, (1, 0.0)
        elif len(words) == 1:
            result = self.table.weight[1], (2, self.score(1))
        else:
            scores = [self.score(w) for w in words]
            if len(words) > 3:
                return self.table.weight[2], (len(words), scores[-1])
            result = torch.stack(scores), (3, scores[0])
        return result


class Chosen(Scorer):
    def forward(self, words):
        return (self.table.weight[1], self.score(words[0])) if words else (None, 0.0)


class ChosenName(Scorer):
    def forward(self, words):
        score = self.score(words[0]) if words else -1.0
        return {"score": score, "doubled": score * 2, "list": [score]}


class ChosenPair(Scorer):
    def forward(self, words):
        score = self.score(words[0]) if words else self.score(1)
        pair = (score, 1) if len(words) > 1 else (-0.5, 2)
        return score, pair


class BesideEmptyList(Scorer):
    """Nothing says at the first `return` what the list would have in it."""

    def forward(self, words):
        if not words:
            return [], 0.0
        scores = [self.score(w) for w in words]
        return scores, scores[0]


class Matched(Scorer):
    def forward(self, words):
        match words:
            case []:
                return 0.0, 0
            case [word]:
                return self.score(word), 1
            case [word, *rest]:
                return self.score(word) * 2, len(rest)


MODELS = [
    BesideNone,
    Alone,
    OrNothing,
    OutOfLoop,
    OfBothKinds,
    InDictionary,
    InObject,
    InNamedTuple,
    InLists,
    BesideEmptyList,
    UnderOneName,
    Chosen,
    ChosenName,
    ChosenPair,
    Matched,
]


@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_returned_where_one_return_gives_numbers(model):
    check_interpreted(model())


def test_numbers_are_returned_natively():
    check(BesideNone())
