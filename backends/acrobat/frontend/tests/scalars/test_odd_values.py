"""None, bools and numbers of other types where lists are sliced, added up and counted, as Python takes them."""

# mypy: ignore-errors

from __future__ import annotations

import functools
import operator
from collections import Counter
from typing import NamedTuple

import pytest
import torch

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees


class Point(NamedTuple):
    a: int
    b: int


LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1]]


def none_as_a_bound(xs):
    t = torch.tensor([*xs, 1]) * 2.0
    return xs[None:2], xs[1:None], xs[None:None], xs[::None], xs[len(xs) > 2 :], t[None:2]


def sums_with_a_start(xs):
    of_tuples = sum((1, 2), 0.0), sum((len(xs), 2), 0.0), sum((1, 2), False), sum((True,), 0.0)
    return of_tuples, sum([x > 1 for x in [*xs, 1]], False), sum([*xs, 1], True), sum(xs, 0.0)


def sums_of_zeros(xs):
    numbers = [sum((x * -0.0,)) for x in xs], [functools.reduce(operator.add, [x * -0.0]) for x in xs]
    return [[1 / torch.tensor(n) for n in some] for some in numbers]


def sums_from_zero(xs):
    return sum([torch.ones(2) * x for x in [*xs, 1]], 0.0), sum((torch.ones(2), torch.ones(2)), 0.0)


def bits_of_bools(xs):
    large = [x > 2 for x in xs]
    return [(x > 2) & (x < 5) for x in xs], [a | True for a in large], [a ^ a for a in large], [a | 2 for a in large]


def most_common(xs):
    counts = Counter(xs)
    return [counts.most_common(n) for n in (-1, 0, 1, 9)], counts.most_common(None)


@pytest.mark.parametrize(
    "function", [none_as_a_bound, sums_with_a_start, sums_of_zeros, sums_from_zero, bits_of_bools, most_common]
)
def test_agrees_with_eager(function):
    agrees(module(function), LISTS)


def bound_that_may_be_none(x):
    items, word, at = x
    return items[at:], items[:at], items[at:2], items[at::2], word[at:], word[:at]


def bound_of_a_tensor(x):
    rows, at = x
    return rows[at:], rows[:at]


def test_a_bound_of_the_instance_may_be_none():
    agrees(module(bound_that_may_be_none), [([1, 2, 3], "abc", None), ([1, 2, 3], "ab", 1), ([], "", None), ([3, 4], "a", -1)])
    agrees(module(bound_of_a_tensor), [(torch.arange(3.0), None), (torch.arange(3.0), 1), (torch.arange(2.0), -1)])


def half(xs):
    return xs[len(xs) / 2 :]


def test_a_bound_is_no_float():
    with pytest.raises(CompileError, match="a bound of a slice is an int, not a float"):
        build(module(half), sample=LISTS)


def added(xs):
    return sum(xs)


def test_a_sum_with_none_in_it_is_an_error_of_the_instance():
    program = Interpreter(build(module(added), sample=[[1, None], [2, 3], []]))
    assert [program.run(xs) for xs in ([2, 3], [])] == [5, 0]
    with pytest.raises(InstanceError, match="None"):
        program.run([1, None])


def reduced(xs):
    return functools.reduce(operator.add, xs)


def reduced_display(xs):
    return functools.reduce(operator.add, []) + len(xs)


@pytest.mark.parametrize("function", [reduced, reduced_display])
def test_nothing_is_reduced_without_a_start(function):
    program = Interpreter(build(module(function), sample=LISTS))
    with pytest.raises(InstanceError):
        program.run([])


ROWS, PAIRS, RANKS = [[1, 2], []], [(1, 2), (3, 4)], {1e300: 1, 2.0: 3, 0.5: 2}
POINTS = [Point(1, 2)]


def lists_among_constants(xs):
    return (
        [x in ROWS for x in xs],
        [x == ROWS[0] for x in xs],
        [ROWS[1] != x for x in xs],
        xs == ROWS,
        [x < ROWS[0] for x in xs],
    )


def named_tuples_among_constants(xs):
    points = [Point(x, x + 1) for x in xs]
    return [p in PAIRS for p in points], [p in POINTS for p in points], [RANKS.get(x, 0) for x in xs], [x in RANKS for x in xs]


def ends(words):
    tests = [w.endswith(("o", "a")) for w in words], [w.startswith(("h", words[0])) for w in words]
    return tests, [w.endswith(()) for w in words], [w.endswith("o") for w in words]


def test_lists_objects_and_several_strings_are_compared_with_constants():
    agrees(module(lists_among_constants), [[[1, 2], [3]], [[]], [[1, 2], []], []])
    agrees(module(named_tuples_among_constants), LISTS)
    agrees(module(ends), [["hello", "a", ""], ["", "no"], ["x"]])


def pair_and_list(x):
    return x == [1, "a"]


def test_a_list_is_not_taken_for_an_equal_tuple():
    with pytest.raises(CompileError, match="not compared with a tuple"):
        build(module(pair_and_list), sample=[(1, "a"), (2, "b")])


def by_zero_in_some(xs):
    zero = 0
    if len(xs) > 3:
        return xs[0] / zero
    if len(xs) > 2:
        return xs[0] // 0
    return 7 % zero if xs else 0.5


def test_a_written_division_by_zero_is_an_error_where_it_is_computed() -> None:
    interpreter = Interpreter(build(module(by_zero_in_some), sample=LISTS))
    assert interpreter.run([]) == 0.5
    for xs in LISTS[1:]:
        with pytest.raises(InstanceError, match="by zero"):
            interpreter.run(xs)
