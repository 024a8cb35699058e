"""The keys of dictionaries and of ModuleDicts as sets; lists that are joined from sets where their order does not matter."""

# mypy: ignore-errors
from __future__ import annotations

import zlib

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import agrees, with_forward

RECORDS = [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "yy", "c": [1, 2]}, {"b": "z", "d": {"k": 1}}]
WORDS = [["a", "b"], ["c", "a", "a", "b"], ["b"], ["a", "zz", "c"]]
NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]
KNOWN = {"a": 1, "b": 2}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(1, 2), "b": nn.Linear(2, 2)})
        self.config = {"a": 1, "c": 2}


def beside_constants(self, record):
    return len(record.keys() - {"a", "b"}), sorted(record.keys() & {"a", "c"}), len(record.keys() - KNOWN.keys())


def beside_modules(self, record):
    return len(record.keys() - self.layers.keys()), 0.9 ** len(set(record) - set(self.layers))


def of_words(self, words):
    places = {w: i for i, w in enumerate(words)}
    lacking = sorted(self.layers.keys() - places.keys())
    return sorted(places.keys() - self.layers.keys()), sorted(places.keys() & self.config.keys()), lacking


def twice(self, words):
    names = self.layers.keys()
    return [k for k in names if k in words], list(names), len(names), next(iter(self.layers.items()))[0]


@pytest.mark.parametrize("forward", [beside_constants, beside_modules])
def test_of_records(forward):
    agrees(with_forward(Model(), forward), RECORDS)


@pytest.mark.parametrize("forward", [of_words, twice])
def test_of_words(forward):
    agrees(with_forward(Model(), forward), WORDS)


def joined_lists(self, numbers):
    some, more = set(numbers), {n + 10 for n in numbers}
    joined = sorted([2 * i for i in some if i > 1] + [i + 1 for i in more])
    return joined, sorted(list(some) + list(more)), max([-i for i in some] + [0]), sum([i + 0 for i in some] + [1])


def joined_pairs(self, numbers):
    some = set(numbers)
    return sorted([(i % 2, i) for i in some] + [(0, i) for i in numbers])[:2], set([i + 0 for i in some] + [4]) == {4}


@pytest.mark.parametrize("forward", [joined_lists, joined_pairs])
def test_lists_joined_from_sets(forward):
    agrees(with_forward(Model(), forward), NUMBERS)


def joined_floats(self, numbers):
    return sum([i / 3 for i in set(numbers)] + [1.0])


def test_sums_of_floats_in_no_order():
    with pytest.raises(CompileError, match="the order of a set is not known"):
        agrees(with_forward(Model(), joined_floats), NUMBERS)


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(20, 6)

    def forward(self, value):
        if value is None:
            return torch.zeros(6)
        parts = [value[i : i + 3] for i in range(max(1, len(value) - 2))]
        return self.table(torch.tensor([zlib.crc32(x.encode()) % 20 for x in parts])).sum(0)


class Listed(nn.Module):
    def __init__(self, item):
        super().__init__()
        self.item = item

    def forward(self, value):
        return torch.stack([self.item(x) for x in value]).mean(0) if value else torch.ones(6)


class Record(nn.Module):
    def __init__(self, **fields):
        super().__init__()
        self.fields = nn.ModuleDict(fields)

    def forward(self, value):
        total = torch.zeros(6)
        for key, field in self.fields.items():
            total = total + field(value.get(key))
        return total * 0.9 ** len(value.keys() - self.fields.keys())


def test_records_whose_further_names_are_counted():
    model = Record(a=Text(), b=Listed(Text()), c=Listed(Record(a=Text(), b=Listed(Text()))))
    instances = [
        {"a": "hello", "b": ["xy", "z"], "c": [{"a": "q", "b": []}]},
        {"a": "w", "b": [], "c": [], "e": 3},
        {"b": ["abcd"], "c": [{"a": "zz", "b": ["y"]}, {"b": ["k", "l"]}]},
    ]
    agrees(model, instances)


def test_sets_of_names_of_records_inside():
    """Records in lists show some sets of names in one place and others in another."""
    model = Record(a=Text(), b=Listed(Record(a=Text())), c=Text())
    sample = [
        {"a": "x", "b": [{"a": "y"}, {}]},
        {"a": "x", "c": "z"},
        {"b": [{}], "c": "zz"},
        {"a": "u", "b": [], "c": "v"},
        {"b": [{"a": "w"}]},
    ]
    agrees(model, sample, [*sample, {}, {"c": "q"}, {"a": "q"}])
