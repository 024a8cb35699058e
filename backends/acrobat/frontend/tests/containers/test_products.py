"""`itertools.product` of any number of lists, and keys that are tuples with tuples of several lengths in them."""

# mypy: ignore-errors
from __future__ import annotations

import itertools

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


def of_one_and_of_four(self, numbers):
    return list(itertools.product(numbers)), list(itertools.product(numbers, numbers[:1], "ab", numbers[1:]))


def of_pools(self, numbers):
    pools = [[n for n in numbers if n > i] for i in range(2)]
    pairs = [a * b for a, b in itertools.product(numbers, repeat=2)]
    return [sum(t) for t in itertools.product(*pools)], pairs, len(list(itertools.product(numbers, numbers, [1, 2])))


def of_several_lengths(self, numbers):
    found, used = [], set()
    for name, size in (("one", 1), ("two", 2)):
        for chosen in itertools.product(*[[n % 3 for n in numbers] for _ in range(size)]):
            if (name, chosen) in used:
                continue
            used.add((name, chosen))
            found.append(sum(chosen))
    return found, len(used)


@pytest.mark.parametrize("forward", [of_one_and_of_four, of_pools, of_several_lengths])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), NUMBERS)
