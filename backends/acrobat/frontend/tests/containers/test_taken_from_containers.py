"""A star that takes the rest of a dictionary's keys, the union of the sets of a list, and `is True`. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
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


STATUS = {False: 0, True: 1, None: 2}
PLACES = {"a": 0, "b": 1, None: 2}


def by_a_bool_or_none(self, values):
    return [STATUS[x] for x in values]


def by_a_word_or_none(self, values):
    return [PLACES[x] for x in values], [PLACES.get(x, 7) for x in values]


def test_none_among_the_keys_of_a_constant() -> None:
    agrees(with_forward(nn.Module(), by_a_bool_or_none), [[True, None, False], [None], [True]])
    agrees(with_forward(nn.Module(), by_a_word_or_none), [["a", None, "b"], [None], ["b"]])


def with_defaults(self, record):
    given = set(record.get("a", ())) | set(record["b"])
    return sorted(given), len(record.get("a", ())), sorted(record.get("a", ())), list(record.get("a", ()))


def test_an_empty_tuple_as_default_of_what_is_taken_whole() -> None:
    agrees(with_forward(nn.Module(), with_defaults), [{"a": [1, 2], "b": [3]}, {"a": [], "b": [1]}, {"b": [2, 2]}])


class Answer:
    def __init__(self, given, score):
        self.given, self.score = given, score


def of(answer):
    return answer.score if answer.given else "none"


def compared(self, answer):
    other = "none"
    return of(answer) == other, of(answer) != other


def test_strings_are_no_tensors() -> None:
    agrees(with_forward(nn.Module(), compared), [Answer(True, torch.tensor(1.5)), Answer(False, torch.tensor(2.0))])
