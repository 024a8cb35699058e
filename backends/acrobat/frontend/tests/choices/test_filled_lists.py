"""Sums of lists that have an item in any case, which are tensors in PyTorch, and of such that may be empty, which may be
numbers: `filled_lists.py` tells them apart. Against eager PyTorch, with instances of no word, of one and of several."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.frontend.program import NumbersAsTensors, ProgramBuilder
from backends.acrobat.frontend.tests.choices.test_numbers_given import SENTENCES, Scorer
from backends.acrobat.frontend.tests.choices.test_varying_tuples import LISTS, dict_values, tree
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Model(Scorer):
    def total(self, xs):
        return sum(xs)

    def added(self, xs):
        total = 0.0
        for x in xs:
            total = total + x
        return total

    def scores(self, words):
        return [self.score(w) for w in words]


def varying_tuple(self, words):
    h = self.score(1)
    t = (h, h + 1) if len(words) > 1 else (h,)
    return {"sum": sum(t)}


def of_helper(self, words):
    return self.total([*self.scores(words), self.score(0)]), {"added": self.added([self.score(0), *self.scores(words)])}


def of_two_lists(self, words):
    one, other = [self.score(1)], [self.score(w) for w in words]
    if words:
        one, other = other, one
    return [sum(one), sum(x * 2 for x in one)]


def behind_return(self, words):
    scores = self.scores(words)
    if not scores:
        return {"a": self.score(0), "b": self.score(1)}
    return {"a": sum(scores), "b": self.added(x + 1 for x in scores)}


def behind_length(self, words):
    scores = self.scores(words)
    if len(words) < 1:
        return {"a": self.score(0)}
    return {"a": sum(scores[i] for i in range(len(scores)))}


def behind_both(self, words):
    scores = [self.score(w) for w in words]
    if len(words) >= 2 and scores[0] > 0:
        return {"a": self.total(scores)}
    return {"a": self.score(0)}


def behind_either(self, words):
    scores = [self.score(w) for w in words]
    if not words or words[0] == 3:
        return {"a": self.score(0)}
    return {"a": self.total(scores)}


def behind_error(self, words):
    scores = self.scores([*words, 1])
    if len(scores) == 0:
        raise ValueError("no word")
    return {"a": sum(scores)}


def behind_item(self, words):
    scores = self.scores([*words, 1][: len(words) + 1])
    return {"first": scores[0], "all": sum(scores)}


def appended(self, words):
    found = []
    for i in range(3):
        found.append(self.score(i))
        if i in words:
            found = found[::-1]
    return {"a": sum(found), "b": [self.added(found) for _ in words]}


def of_recursion(self, words):
    def leaves(words):
        if len(words) < 2:
            return [self.score(len(words))]
        return leaves(words[:1]) + leaves(words[1:])

    return {"a": sum(leaves(words))}


FILLED = [varying_tuple, of_helper, of_two_lists, behind_return, behind_length, behind_both, behind_either, behind_error]
FILLED += [behind_item, appended, of_recursion]


def made(forward):
    return with_forward(Model(), forward)


@pytest.mark.parametrize("forward", FILLED, ids=lambda f: f.__name__)
def test_the_sum_of_a_list_with_an_item_is_a_tensor(forward):
    ProgramBuilder(made(forward).eval()).build(sample=SENTENCES)  # one build is enough
    agrees(made(forward), SENTENCES)


def of_both(self, words):
    return {"a": self.total(self.scores(words)), "b": self.total([self.score(1)])}


def of_shorter(self, words):
    xs, found = [self.score(1), self.score(2)], []
    for _ in words:
        found.append(sum(x * 2 for x in xs))
        xs = xs[1:]
    return found


def of_the_rest(self, words):
    def each(xs):
        return [self.total(xs), *(each(xs[1:]) if xs else [])]

    return each(self.scores(words))


def chosen(self, words):
    return [sum(x for x in self.scores([1, *words]) if x > 0.4)]


def of_other_test(self, words):
    scores = self.scores(words)
    if len(words) >= 0:
        return {"a": self.total(scores)}
    return {"a": self.score(0)}


def behind_no_test(self, words):
    scores = [self.score(w) for w in words]
    if words and words[0] == 3:
        return {"a": self.score(0)}
    return {"a": self.total(scores)}


def behind_wrong_test(self, words):
    scores = [self.score(w) for w in words]
    if not words or words[0] == 3:
        return {"a": self.total(scores)}
    return {"a": self.score(0)}


def behind_item_of_some(self, words):
    scores = self.scores(words)
    first = [scores[0] for _ in words]
    return first, {"a": sum(scores)}


def without_the_first(self, words):
    scores = self.scores([1, *words])
    return [sum(scores[i] for i in range(1, len(scores)))]


def side_by_side(self, words):
    return [sum(x * y for x, y in zip(self.scores([1]), self.scores(words)))]  # noqa: B905


def in_while(self, words):
    xs, i = [self.score(1)], 0
    while i < len(words) and words[i] != 3:
        xs = self.scores(words[:i])
        i += 1
    return {"a": sum(xs)}


MAY_BE_EMPTY = [of_both, of_shorter, of_the_rest, chosen, of_other_test, behind_no_test, behind_wrong_test]
MAY_BE_EMPTY += [behind_item_of_some, without_the_first, side_by_side, in_while]


@pytest.mark.parametrize("forward", MAY_BE_EMPTY, ids=lambda f: f.__name__)
def test_the_sum_of_a_list_that_may_be_empty_may_be_a_number(forward):
    with pytest.raises(NumbersAsTensors):
        ProgramBuilder(made(forward).eval()).build(sample=SENTENCES)
    agrees(made(forward), SENTENCES)


def test_trees_are_found_beside_numbers():
    """Kept apart are numbers and tensors only: what else was found of the model stays."""

    def forward(self, words):
        h = self.weight[0] * words[0]
        t = (h, h + 1) if words[0] > 2 else ()
        return sum(t), tree(self, words), dict_values(self, words)

    agrees(with_forward(nn.Linear(3, 1), forward), LISTS)
