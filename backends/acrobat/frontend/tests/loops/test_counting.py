"""Counters with a name: `tie = itertools.count()` and `next(tie)`, as searches have them in the entries of a heap."""

from __future__ import annotations

import heapq
import itertools
from itertools import count

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3.0], [1.0, 2.0, 1.0], [5.0, 1.0, 4.0, 1.0], [9.0, 9.0], [6.0, 2.0, 2.0, 3.0, 3.0, 3.0, 7.0, 1.0]]


def ties_in_a_heap(self, xs):
    tie = itertools.count()
    heap = [(0.5, next(tie), "start")]
    for x in xs:
        heapq.heappush(heap, (max(x, 2.0), next(tie), "more"))
    order = []
    while heap:
        _, number, _ = heapq.heappop(heap)
        order.append(number)
    return order


def steps_and_starts(self, xs):
    ids = count(len(xs), 3)
    pair = next(ids), next(ids)
    for x in xs:
        other = count(10)
        if x > 2 and next(ids) > 0 if len(xs) > 99 else x > 1.5:
            pair = pair[1], next(ids)
        first = next(other)
        pair = pair[0] + first, pair[1] + next(other)
    return pair


def without_conditions(self, xs):
    ids = count(len(xs), step=3)
    pair = next(ids), next(ids)
    for x in xs:
        other = itertools.count(start=10)
        if x > 1.5:
            pair = pair[1], next(ids)
        elif next(ids) % 2 == 0:
            pair = next(ids), 0
        pair = pair[0] + next(other), pair[1] + next(other)
    return pair[0], pair[1], next(ids)


def beside_another_value(self, xs):
    heap, tick = [], itertools.count()  # type: ignore[var-annotated]
    for x in xs:
        heapq.heappush(heap, (x, next(tick), len(heap)))
    return [heapq.heappop(heap) for _ in xs]


def stepped_inside(self, xs):
    ids, names, given = itertools.count(2), {}, []

    def fresh(x):
        """The next id."""
        return next(ids), x

    def number(i):
        names[next(ids)] = xs[i]
        if i + 1 < len(xs):
            number(i + 1)
        given.append(fresh(i))

    def both(i):
        def inner():
            return next(ids) * 2

        two = inner()
        return two + next(ids)

    first = next(ids)
    number(0)
    others = [fresh(x) for x in xs], both(1)
    return first, names, given, others, next(ids)


def given_on(f, xs):
    return [f(x) for x in xs]


def given_to_a_function(self, xs):
    ids = itertools.count()

    def fresh(x):
        return next(ids), x

    given = given_on(fresh, xs)
    last = next(ids)
    return given, last


def loops_without_end(self, xs):
    taken, last = [], 0.0
    for t in itertools.count():
        if t >= len(xs):
            break
        if xs[t] < 2:
            continue
        for k in count(start=t, step=len(xs)):
            if k > 9:
                break
            taken.append(k)
        last = xs[t]
    else:
        last = last / 0
    for u in itertools.count(len(taken), -2):
        if u < t:
            return taken, last, t, u
    return taken


@pytest.mark.parametrize(
    "forward",
    [ties_in_a_heap, without_conditions, beside_another_value, stepped_inside, given_to_a_function, loops_without_end],
)
def test_counters_are_ints(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


def stepped_by_a_call_before(self, xs):
    ids = itertools.count()

    def fresh(x):
        return next(ids), x

    return [fresh(x) for x in xs], next(ids), torch.ones(2)


def stepped_by_a_given_function(self, xs):
    ids = itertools.count()

    def fresh(x):
        return next(ids), x

    other = fresh
    return given_on(other, xs), next(ids), torch.ones(2)


def stepped_in_a_lambda(self, xs):
    ids = itertools.count()
    fresh = lambda: next(ids)  # noqa: E731
    return fresh() + len(xs), torch.ones(2)


def stepped_under_a_name_of_its_own(self, xs):
    ids = itertools.count()

    def fresh(ids):
        return next(ids)

    return fresh(ids) + next(ids) + len(xs), torch.ones(2)


def stepped_in_a_comprehension(self, xs):
    ids = itertools.count()
    return [next(ids) for _ in xs], torch.ones(2)


@pytest.mark.parametrize(
    "forward", [steps_and_starts, stepped_by_a_call_before, stepped_by_a_given_function, stepped_in_a_comprehension]
)
def test_a_counter_that_is_stepped_elsewhere_is_an_object(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (stepped_in_a_lambda, "a lambda changes `ids`"),
        (stepped_under_a_name_of_its_own, "an iterator without an end has a name here if"),
    ],
)
def test_a_counter_that_is_refused(forward, words) -> None:
    with pytest.raises(CompileError, match=words):
        build(with_forward(nn.Module(), forward), sample=LISTS)
