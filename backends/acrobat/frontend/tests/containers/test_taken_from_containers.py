"""A star that takes the rest of a dictionary's keys, the union of the sets of a list, and `is True`. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


def keys_of_a_dictionary(self, numbers):
    used = dict.fromkeys([n % 3 for n in numbers])
    first, *others = used
    *start, last = dict.fromkeys(numbers, 1)
    return first, others, start, last


def unions(self, numbers):
    found = set().union(*({n, n + 1} for n in numbers))
    return sorted(found), sorted({1}.union(*[{n} for n in numbers])), sorted(set().union([1, 2]))


class Query:
    def __init__(self, name, parts):
        self.name, self.parts = name, parts


def names(query):
    if not query.parts:
        return {query.name}
    return set().union(*(names(part) for part in query.parts))


def by_recursion(self, query):
    return sorted(names(query))


def is_a_bool(self, values):
    return [x is True for x in values], [x is not False for x in values], sum(1 for x in values if x is False)


@pytest.mark.parametrize("forward", [keys_of_a_dictionary, unions])
def test_taken_from_containers(forward) -> None:
    agrees(with_forward(nn.Module(), forward), NUMBERS)


def test_unions_by_recursion() -> None:
    queries = [Query(1, [Query(2, []), Query(3, [Query(4, []), Query(2, [])])]), Query(5, [])]
    agrees(with_forward(nn.Module(), by_recursion), queries)


@pytest.mark.parametrize("values", [[[True, None, False], [None], [True]], [[True, 3, "a"], [1], [False, 0]]])
def test_is_true(values) -> None:
    agrees(with_forward(nn.Module(), is_a_bool), values)
