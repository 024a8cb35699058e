"""Iterators under names: used once, taken from by `next`, given to functions and kept in objects. An iterator is exhausted by
its first use, and goes through what the list is when it is used: what the program would do otherwise is refused."""

# mypy: ignore-errors
# ruff: noqa: B905, RUF007
from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 10]]


class Tokens:
    def __init__(self, words):
        self.rest = iter(words)
        self.word = next(self.rest)

    def eat(self):
        before = self.word
        self.word = next(self.rest, -1)
        return before

    def number(self):
        value = self.eat()
        while self.word > 3:
            value = value * 10 + self.eat()
        return value


class Twice:
    def __init__(self, words):
        self.first = list(words)
        self.second = list(words)


class Model(nn.Module):
    Tokens = Tokens

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(12, 3)
        self.join = nn.Linear(6, 3)

    def tree(self, words):
        word = next(words)
        if word > 5:
            return torch.tanh(self.join(torch.cat([self.tree(words), self.tree(words)])))
        return self.embed.weight[word]

    def two(self, words):
        return next(words), next(words, 0)

    def twice(self, words):
        return list(words), list(words)

    def highest_and_sum(self, words):
        return max(words), sum(words)

    def rounds(self, words):
        return [word for _ in range(2) for word in words]

    def of_any(self, *several):
        return list(several[0]), list(several[0])

    def either(self, words):
        if len(self.embed.weight) > 20:
            return list(words)
        return sorted(words)

    def doubled(self, words):
        for word in words:
            yield 2 * word

    def given(self, words):
        return self.doubled(words)

    def pairs(self, words):
        return zip(words, words[1:])


def taken_one_by_one(self, xs):
    words = iter(xs)
    first = next(words)
    found = [next(words, -1) for _ in range(1)]
    for i in range(2):
        if i > 0:
            found.append(next(words, -2))
    return first, found, xs


def in_a_recursion(self, xs):
    words = iter(xs + [1] * 40)
    tree = self.tree(words)
    return tree, next(words), self.two(words), self.two(iter(xs))


def in_an_inner_function(self, xs):
    words, found = iter(xs + [1] * 40), []

    def number():
        word = next(words)
        found.append(word)
        return number() + 2 * number() if word > 5 else word

    return number(), next(words), found


def in_an_object(self, xs):
    tokens, others = Tokens(xs), self.Tokens(list(xs))
    return tokens.number(), tokens.number(), others.eat(), others.word


def used_once(self, xs):
    pairs, total = zip(xs, xs[1:]), 0
    bigger = (x + 1 for x in xs)
    numbered = enumerate(bigger)
    for a, b in pairs:
        total += a * b
    best = max(numbered, key=lambda pair: pair[1])
    return total, best, self.either(x + 2 for x in xs)


def typed_and_in_a_tuple(self, xs):
    words: Iterator[int] = self.doubled(xs)
    others, n, bigger = self.doubled(xs), len(xs), (x + 1 for x in xs)
    return list(words), sum(others), n, list(bigger)


def used_once_on_each_path(self, xs):
    bigger = (x + 1 for x in xs)
    if len(xs) > 2:
        return sum(bigger)
    return max(bigger)


def of_generators(self, xs):
    found = []
    for i in range(2):
        words = self.doubled(xs)
        for word in words:
            found.append(word * i)
    given, pairs = self.given(xs), self.pairs(xs)
    first = next(given)
    return found, first, next(given), list(pairs), dict(self.pairs(xs))


def in_one_arm_only(self, xs):
    order, pairs, total = range(len(xs)), zip(xs, xs[1:]), 0
    if len(xs) != 2:
        order = reversed(order)
    if xs[0] > 4:
        pairs = [(xs[0], 1)]
    for i in order:
        total = 3 * total + xs[i]
    return total, [a * b for a, b in pairs]


def under_one_name_again_and_again(self, xs):
    order = iter(xs)
    order = order if len(xs) > 2 else reversed(xs)
    order = zip(order, xs)
    order = enumerate(order)
    return [i * (x + y) for i, (x, y) in order]


def in_each_arm(self, xs):
    if self.training:
        order = enumerate(xs)
    else:
        order = reversed(xs)
    found = list(order)
    for k in range(len(xs)):
        if k == 1:
            pairs = enumerate(xs)
        else:
            pairs = zip(xs, xs[::-1])
        found += [a - b for a, b in pairs]
    return found


def after_the_first(self, xs):
    words = iter(xs)
    first = next(words)
    return first, list(words)


FORWARDS = [
    after_the_first,
    typed_and_in_a_tuple,
    taken_one_by_one,
    in_a_recursion,
    in_an_inner_function,
    in_an_object,
    used_once,
    used_once_on_each_path,
    in_one_arm_only,
    under_one_name_again_and_again,
    in_each_arm,
    of_generators,
]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_iterator_with_a_name(forward) -> None:
    agrees(with_forward(Model(), forward), LISTS)


def test_generated_code(tmp_path) -> None:
    agrees_natively(with_forward(Model(), in_a_recursion), LISTS, "vm", tmp_path)


def test_an_exhausted_iterator_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(Model(), lambda self, xs: self.tree(iter(xs))), sample=LISTS))
    with pytest.raises(InstanceError):
        interpreter.run([7, 8])


def by_a_function(self, xs):
    return self.twice(iter(xs))


def of_a_comprehension(self, xs):
    return self.twice(x + 1 for x in xs)


def of_a_map(self, xs):
    return self.highest_and_sum(map(abs, xs))


def in_a_loop(self, xs):
    return self.rounds(reversed(xs))


def by_a_lambda(self, xs):
    return (lambda words: (list(words), list(words)))(iter(xs))


def among_several(self, xs):
    return self.of_any(iter(xs), iter(xs))


def of_a_generator(self, xs):
    words = self.doubled(xs)
    return list(words), list(words)


def of_a_generator_given_on(self, xs):
    return self.twice(self.given(xs))


def of_generators_in_a_tuple(self, xs):
    words, n = self.doubled(xs), 1
    return list(words), list(words), n


def of_a_typed_generator(self, xs):
    words: Iterator[int] = self.doubled(xs)
    return list(words), list(words)


def under_two_names(self, xs):
    words = (x + 1 for x in xs)
    others = words
    return list(words), list(others)


def in_a_tuple(self, xs):
    pair = (iter(xs), 1)
    return list(pair[0]), list(pair[0])


def in_an_object_twice(self, xs):
    twice = Twice(iter(xs))
    return twice.first, twice.second


def in_pairs(self, xs):
    words = iter(xs)
    return list(zip(words, words))


def as_a_result(self, xs):
    words = iter(xs)
    return next(words), words


def of_a_list_that_grows(self, xs):
    words = list(xs)
    bigger = (x + 1 for x in words)
    words.append(50)
    return list(bigger)


def of_a_generator_of_a_list_that_grows(self, xs):
    words = list(xs)
    doubled = self.doubled(words)
    words.append(50)
    return list(doubled)


def of_a_name_that_changes(self, xs):
    k = 1
    bigger = (x + k for x in xs)
    k = 5
    return list(bigger)


SEVERAL = [
    by_a_function,
    of_a_comprehension,
    of_a_map,
    in_a_loop,
    by_a_lambda,
    among_several,
    of_a_generator,
    of_a_generator_given_on,
    of_generators_in_a_tuple,
    of_a_typed_generator,
    under_two_names,
    in_a_tuple,
    in_an_object_twice,
    in_pairs,
    as_a_result,
    of_a_list_that_grows,
    of_a_generator_of_a_list_that_grows,
    of_a_name_that_changes,
]


@pytest.mark.parametrize("forward", SEVERAL, ids=lambda f: f.__name__)
def test_what_would_be_used_again_is_refused(forward) -> None:
    with pytest.raises(CompileError, match="an iterator"):
        build(with_forward(Model(), forward), sample=LISTS)


# ---- what an iterator gives is seen elsewhere, too


def extended_by_an_iterator(self, xs):
    rows, found = [[x] for x in xs], []
    found.extend(reversed(rows))
    found[0].append(7)
    return rows, found


def extended_by_a_comprehension(self, xs):
    rows, found = [[x] for x in xs], []
    found.extend(row for row in rows)
    found[0].append(7)
    return rows, found


def put_into_a_slice(self, xs):
    rows, found = [[x] for x in xs], [[0]]
    found[0:0] = reversed(rows)
    found[0].append(7)
    return rows, found


def updated_by_an_iterator(self, xs):
    rows, found = [[x] for x in xs], {}
    found.update(enumerate(rows))
    found[0].append(7)
    return rows, found


def spread_in_a_list(self, xs):
    rows = [[x] for x in xs]
    found = [*reversed(rows)]
    found[0].append(7)
    return rows, found


ALIASES = [
    extended_by_an_iterator,
    extended_by_a_comprehension,
    put_into_a_slice,
    updated_by_an_iterator,
    spread_in_a_list,
]


@pytest.mark.parametrize("forward", ALIASES, ids=lambda f: f.__name__)
def test_items_of_an_iterator_are_not_changed_under_one_of_their_names(forward) -> None:
    agrees_unless_refused(with_forward(Model(), forward), LISTS, "may be seen elsewhere")


def new_items(self, xs):
    found, table = [], {}
    found.extend([x] for x in xs)
    found.extend([x, x] for x in xs)
    found[0].append(7)
    table.update((x, [x]) for x in xs)
    table[xs[0]].append(3)
    return found, table


def test_new_items_of_an_iterator_are_changed() -> None:
    agrees(with_forward(Model(), new_items), LISTS)
