"""Lists that an object keeps which the program has as a number: the list may be changed by its other name afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Keeps:
    def __init__(self, rows):
        self.rows = [rows]
        self.word = 0


def changed_afterwards(self, xs):
    ys = list(xs)
    kept = Keeps(ys)
    other = kept
    other.word = 5
    ys.append(1)
    return kept.rows, kept.word


def changed_in_a_loop(self, xs):
    kept = []
    for x in xs:
        ys = [x]
        kept.append(Keeps(ys))
        kept[0].word += 1
        ys.append(1)
    return [(k.rows, k.word) for k in kept]


def changed_by_the_object(self, xs):
    ys = list(xs)
    kept = [Keeps(ys)]
    other = kept[0]
    other.word = 5
    kept[0].rows[0].append(1)
    return ys, other.rows, kept[0].word


@pytest.mark.parametrize("function", [changed_afterwards, changed_in_a_loop, changed_by_the_object], ids=lambda f: f.__name__)
def test_both_names_see_the_change(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), [[1, 2], [3]])
