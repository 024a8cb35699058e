"""Results that loops and `sum` add up of what a function gives, which is a number for some of its arguments and a tensor for
others: they are numbers where only numbers were added."""

# mypy: ignore-errors

from __future__ import annotations

import pytest

from backends.acrobat.frontend.tests.choices.test_numbers_given import Scorer, check, check_interpreted


class Penalties(Scorer):
    def penalty(self, word):
        if word == 3:
            return 0.5
        return self.score(word)


class Added(Penalties):
    def forward(self, words):
        total = 0.0
        for w in words:
            total += self.penalty(w)
        return total


class AddedToInt(Penalties):
    """An int before the loop, an int or a tensor in it: a result of ints is one."""

    def penalty(self, word):
        return 1 if word == 3 else self.score(word)

    def forward(self, words):
        total = 0
        for w in words:
            total = total + self.penalty(w)
        return total, len(words)


class IntsAndFloats(Penalties):
    def penalty(self, word):
        return 1 if word == 3 else 0.5

    def forward(self, words):
        total = 0
        for w in words:
            total += self.penalty(w)
        return total, sum(self.penalty(w) for w in words)


class FromTheFirst(Penalties):
    def forward(self, words):
        total = self.penalty(words[0]) if words else 0.0
        for w in words[1:]:
            total = total + self.penalty(w)
        return total


class Multiplied(Penalties):
    def forward(self, words):
        i, product = 0, 1
        while i < len(words):
            product *= self.penalty(words[i])
            i += 1
        return product / max(i, 1)


class Pairs(Penalties):
    def pair(self, word):
        if word == 3:
            return 0.5, 1
        return self.score(word), 2

    def forward(self, words):
        total, count = 0.0, 0
        for w in words:
            score, one = self.pair(w)
            total = total + score
            count += one
        return total, count


class OfHelper(Penalties):
    """The loop is in a function that is called for parts of the result."""

    def loss(self, words):
        total = 0.0
        for w in words:
            total = total + self.penalty(w)
        return total

    def forward(self, words):
        return {"loss": self.loss(words), "half": self.loss(words) / 2}


class InLoops(Penalties):
    def forward(self, words):
        total = 0.0
        for i in range(len(words)):
            inner = 0.0
            for w in words[i:]:
                inner = inner + self.penalty(w)
            total = total + inner
        return total


class InAttribute(Penalties):
    def forward(self, words):
        self.loss = 0.0
        for w in words:
            self.loss = self.loss + self.penalty(w)
        return self.loss


class Summed(Penalties):
    def forward(self, words):
        return sum(self.penalty(w) for w in words), sum((self.penalty(w) for w in words), 1)


class SummedList(Penalties):
    def forward(self, words):
        losses = [self.penalty(w) for w in words]
        return {"loss": sum(losses), "mean": sum(losses) / max(len(losses), 1)}


class SummedMap(Penalties):
    def forward(self, words):
        return sum(map(self.penalty, words))


class SummedGenerator(Penalties):
    def each(self, words):
        for w in words:
            if w == 3:
                yield 0.5
            else:
                yield self.score(w)

    def forward(self, words):
        return sum(self.each(words))


class OfProperty(Penalties):
    @property
    def penalty_of_length(self):
        return 0.5 if self.count == 0 else self.score(1)

    def forward(self, words):
        self.count = len(words)
        return self.penalty_of_length, self.count


MODELS = [
    Added,
    AddedToInt,
    IntsAndFloats,
    FromTheFirst,
    Multiplied,
    Pairs,
    OfHelper,
    InLoops,
    InAttribute,
    Summed,
    SummedList,
    SummedMap,
    SummedGenerator,
    OfProperty,
]


@pytest.mark.parametrize("model", MODELS)
def test_sums_of_numbers_are_numbers(model):
    check_interpreted(model())


@pytest.mark.parametrize("model", [Added, SummedList])
def test_sums_of_numbers_are_numbers_natively(model):
    check(model())
