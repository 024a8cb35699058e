"""Models with names that the compiler itself might choose: what it adds to a program never means something of the source's."""

from __future__ import annotations

import itertools
from collections import deque
from functools import cache

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Tree:
    def __init__(self, value, below=()):
        self.value = value
        self.below = list(below)
        self.state = None


LISTS = [[7, 9, 8], [2, 3, 1]]


def fib_computed(n):
    return 100


def each(function, numbers):
    total = 0
    for n in numbers:
        total = total + function(n)
    return total


def beside_a_cache(self, xs):
    @cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return fib(xs[0]) + fib_computed(xs[0])


def inside_a_cache(self, xs):
    @cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib_computed(n - 2)

    return fib(xs[0])


def parameters_of_a_cache(self, xs):
    @cache
    def down(memo, computed):
        return computed if memo == 0 else down(memo - 1, computed + memo)

    return down(xs[0], 3)


def list_named_as_results(self, xs):
    remembered_results_of_y = [1]

    def push(n):
        remembered_results_of_y.append(n)
        return n

    total = each(push, xs)
    return total, remembered_results_of_y


def cache_given_beside_what_changes(self, xs):
    seen = [1]

    @cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def note(n):
        seen.append(n)
        return fib(n)

    total = each(note, xs) + each(fib, xs)
    more = lambda n: fib(n) + 1  # noqa: E731
    return total, more(3), more(4), seen


@pytest.mark.parametrize(
    "forward",
    [beside_a_cache, inside_a_cache, parameters_of_a_cache, list_named_as_results, cache_given_beside_what_changes],
)
def test_functions_that_remember(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


def length_of_a_limited_deque(self, xs):
    len = lambda items: 100  # noqa: E731
    last: deque[int] = deque(maxlen=2)
    for x in xs:
        last.append(x)
    first = deque(xs, maxlen=2)
    return sum(last), sum(first), len(xs)


def length_of_a_walked_list(self, xs):
    rows = [[x] for x in xs]
    len = lambda items: 1  # noqa: E731
    for row in rows:
        row[0] = row[0] + 1
    return rows, len(rows)


def range_over_a_walked_list(self, xs):
    rows, range = [[x] for x in xs], 4
    for row in rows:
        row.append(range)
    return rows


def length_of_a_chosen_list(self, xs):
    len, total = 3, 0
    for x in itertools.count() if xs[0] > 5 else xs:
        total = total + x
        if total > 20:
            break
    return total, len


def list_of_a_chosen_one(self, xs):
    list, total = 3, 0
    for x in reversed(xs) if xs[0] > 5 else sorted(xs):
        total = total * 2 + x
    return total, list


def next_of_an_iterator_or_none(self, xs):
    next = lambda items, otherwise=None: 77  # noqa: E731
    items = iter(xs) if xs[0] > 5 else None
    return 0 if items is None else next(items, 0)


class Bag:
    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        list = self.xs
        return iter(list)


def list_in_an_iterator(self, xs):
    return sum([x * 2 for x in Bag(xs)])


PYTHON = [
    length_of_a_limited_deque,
    length_of_a_walked_list,
    range_over_a_walked_list,
    length_of_a_chosen_list,
    list_of_a_chosen_one,
    list_in_an_iterator,
]


@pytest.mark.parametrize("forward", PYTHON)
def test_names_of_pythons_functions(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


class Total(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = 0

    def forward(self, tree):
        self.state = self.state + tree.value
        return self.state


class FieldAndAttribute(nn.Module):
    """A field of the instance's objects, and an attribute of a module with the name of their class."""

    def __init__(self) -> None:
        super().__init__()
        self.Tree = Total()

    def forward(self, tree):
        self.Tree.state = 0
        return self.walk(tree), self.Tree.state

    def walk(self, tree):
        for below in tree.below:
            self.walk(below)
        tree.state = self.Tree(tree) * 2
        return tree.state + sum([below.state for below in tree.below])


def test_a_field_and_an_attribute_of_a_module() -> None:
    agrees(FieldAndAttribute(), [Tree(1, [Tree(2), Tree(3, [Tree(4)])]), Tree(5)])


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count_of_all = 0

    def counted(self, xs):
        if xs:
            self.count_of_all += 1
            yield xs[0] + self.count_of_all
            yield from self.counted(xs[1:])

    def forward(self, xs):
        self.count_of_all = 0
        for y in self.counted(xs):
            if y > 4:
                break
        return self.count_of_all


def test_messages_have_the_whole_name_of_an_attribute() -> None:
    with pytest.raises(CompileError, match="the generator `counted` changes the attribute `count_of_all` while"):
        build(Counting().eval(), sample=LISTS)


class Unlimited:
    def __init__(self, xs, maxlen):
        self.xs = list(xs)

    def append(self, x):
        self.xs.append(x)

    def popleft(self):
        return self.xs.pop(0)

    def __len__(self):
        return len(self.xs)


class Own:
    deque = Unlimited


def deque_of_the_models_own(self, xs):
    last = Own.deque([], maxlen=2)
    for x in xs:
        last.append(x)
    total = 0
    while len(last) > 0:
        total = total * 2 + last.popleft()
    return total


def numbered_by_the_models_own(self, xs):
    def enumerate(values):
        return [(10, value) for value in values]

    found = [*xs]
    for i, x in enumerate(found):
        if len(found) < 8:
            found.append(x + i)
    return sum(found)


@pytest.mark.parametrize(
    ("forward", "name"),
    [(next_of_an_iterator_or_none, "next"), (deque_of_the_models_own, "Own.deque"), (numbered_by_the_models_own, "enumerate")],
    ids=["next", "Own.deque", "enumerate"],
)
def test_what_only_has_the_name_of_pythons_is_refused(forward, name) -> None:
    with pytest.raises(CompileError, match=f"`{name}` is not Python's own here"):
        build(with_forward(nn.Module(), forward), sample=LISTS)
