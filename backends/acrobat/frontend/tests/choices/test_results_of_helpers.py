"""Results that are numbers where a function which `forward` calls for a part of its result gives a number, and tensors where
it gives a tensor."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.frontend.tests.choices.test_numbers_given import Scorer, check, check_interpreted


class Helped(Scorer):
    def first(self, words):
        if not words:
            return 0.0
        return self.score(words[0])

    def forward(self, words):
        return self.first(words)


class InParts(Helped):
    def forward(self, words):
        inner = {"one": self.first(words[1:])}
        return {"loss": self.first(words), "half": self.first(words) / 2, "inner": inner}, [self.first(words), 1.0], len(words)


class Named(Helped):
    def forward(self, words):
        loss = self.first(words)
        mean = loss / max(len(words), 1)
        return {"loss": loss, "mean": mean, "neg": -loss}, torch.tanh(self.out.weight[0].sum() + loss)


class NamedAnew(Helped):
    def forward(self, words):
        loss = self.first(words)
        if len(words) > 2:
            loss = loss + self.first(words[1:])
        loss = loss * 2
        return loss, len(words)


class InArms(Helped):
    def forward(self, words):
        if words and words[0] == 5:
            loss = self.first(words)
        else:
            loss = self.first(words[1:])
        return loss


class Added(Helped):
    """A name that holds a number at first, in the function that is called."""

    def first(self, words):
        total = 0
        for w in words:
            total = total + self.score(w)
        return total


class Summed(Helped):
    def first(self, words):
        return sum(self.score(w) for w in words)


class Mean(Helped):
    def first(self, words):
        return sum([self.score(w) for w in words]) / max(len(words), 1)

    def pair(self, words):
        return self.first(words), len(words)

    def forward(self, words):
        loss, count = self.pair(words)
        return loss, count


class CallingItself(Scorer):
    def forward(self, words):
        if not words:
            return 0
        if words[0] == 3:
            return self.forward(words[1:])
        return self.score(words[0]) + self(words[1:])


class TakingItselfApart(Scorer):
    def forward(self, words):
        if not words:
            return None, 0
        _, score = self.forward(words[1:])
        return self.table.weight[words[0]], score + self.score(words[0])


class Recursive(Helped):
    def first(self, words):
        if not words:
            return 0
        return self.score(words[0]) + self.first(words[1:])


class InList(Helped):
    def forward(self, words):
        return [self.first(words[i:]) for i in range(len(words) + 1)]


class Appended(Helped):
    def forward(self, words):
        out = []
        for i in range(len(words) + 1):
            out.append(self.first(words[i:]))
        return out, len(out)


class BoolsToo(Helped):
    def first(self, words):
        if not words:
            return False, 1
        if len(words) == 1:
            return 2, 1.5
        return self.score(words[0]), True


class OrNone(Helped):
    def first(self, words):
        if not words:
            return None
        if len(words) == 1:
            return 2
        return self.score(words[0])


class OfHelpers(Helped):
    def loss(self, words):
        return self.first(words) if len(words) < 3 else 1

    def forward(self, words):
        return {"loss": self.loss(words)}


def total(model, words):
    loss = 0.0
    for w in words:
        loss = loss + model.score(w)
    return loss


class OfGlobal(Scorer):
    def forward(self, words):
        return total(self, words)


class OfNested(Scorer):
    def forward(self, words):
        def first(xs):
            if not xs:
                return 0.0
            return self.score(xs[0]) * len(words)

        return first(words)


class Criterion(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 1)

    def forward(self, rows):
        if not rows:
            return 0.0
        return self.out(rows[0])[0]


class OfModule(Scorer):
    def __init__(self):
        super().__init__()
        self.criterion = Criterion()

    def forward(self, words):
        return {"loss": self.criterion([self.table.weight[w] for w in words])}


class Dictionary(Helped):
    def outer(self, words):
        loss = self.first(words)
        return {"loss": loss, "count": len(words)}

    def forward(self, words):
        out = self.outer(words)
        return out["loss"], out


class Elsewhere(Helped):
    """The same function for the result and for what is computed: there a number is a tensor."""

    def forward(self, words):
        found = torch.stack([self.score(3) + self.first(words[i:]) for i in range(len(words) + 1)])
        return self.first(words), found


MODELS = [
    Helped,
    InParts,
    Named,
    NamedAnew,
    InArms,
    Added,
    Summed,
    Mean,
    CallingItself,
    TakingItselfApart,
    Recursive,
    InList,
    Appended,
    BoolsToo,
    OrNone,
    OfHelpers,
    OfGlobal,
    OfNested,
    OfModule,
    Dictionary,
    Elsewhere,
]


@pytest.mark.parametrize("model", MODELS)
def test_numbers_of_helpers_are_returned(model):
    check_interpreted(model())


@pytest.mark.parametrize("model", [Named, CallingItself])
def test_numbers_of_helpers_are_returned_natively(model):
    check(model())


class PairBehindArms(Scorer):
    def forward(self, words):
        score = self.score(1)
        if len(words) > 1:
            pair = score, (1, score)
        else:
            pair = 0.5, (2, 1.0)
        return {"double": score * 2, "first": pair[0]}, pair


class ChosenPair(Scorer):
    def forward(self, words):
        score = self.score(1)
        pair = (score, 1) if len(words) > 1 else (0.5, 2)
        return {"double": score * 2}, pair


class ListBehindArms(Scorer):
    def forward(self, words):
        score = self.score(1)
        if len(words) > 1:
            scores = [score, score]
        else:
            scores = [0.5, 1.5]
        return {"scores": scores}


class NumberBehindArms(Scorer):
    def forward(self, words):
        score = self.score(1)
        if len(words) > 2:
            loss = score
        elif len(words) > 1:
            loss = True
        elif words:
            loss = None
        else:
            loss = float(len(words))
        return {"double": score * 2, "loss": loss}


class DictionaryBehindArms(Scorer):
    def forward(self, words):
        score = self.score(1)
        if len(words) > 1:
            result = {"loss": score, "count": 1}
        else:
            result = {"loss": 0.5, "count": 2}
        return score * 2, result


class PairOutOfLoop(Scorer):
    def forward(self, words):
        best = 0.0, 0
        for w in words:
            if w > 4:
                best = self.score(w), w
        return self.score(1), best


@pytest.mark.parametrize(
    "model", [PairBehindArms, ChosenPair, ListBehindArms, NumberBehindArms, DictionaryBehindArms, PairOutOfLoop]
)
def test_numbers_of_names_are_returned_where_one_arm_gives_them(model):
    check_interpreted(model())
