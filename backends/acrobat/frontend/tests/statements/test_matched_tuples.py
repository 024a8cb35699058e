"""`match` of tuples whose cases have different numbers of elements, of lists, and of values of several types."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.frontend import build
from backends.acrobat.ir.printer import print_program
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


def of_other_lengths(self, xs):
    t = (len(xs), 2, sum(xs))
    match t:
        case (1, x):
            return [x]
        case (2, *rest):
            return rest
        case (n, 2, *rest):
            return [n, *rest]
    return []


def stars(self, xs):
    t = (len(xs), 2, sum(xs))
    match t:
        case (1, *_, x):
            return x
        case (*_, 2):
            return 5
        case (*rest, 18) | (3, *rest):
            return sum(rest)
        case (*every,):
            return len(every)
    return 9


def too_short(self, xs):
    t = (len(xs), 2)
    match t:
        case (1, 2, *rest):
            return len(rest)
        case (*rest, 1, 2, 3):
            return 7
        case (2, *rest):
            return rest[0]
        case []:
            return 4
    return 9


def of_lists(self, xs):
    match xs:
        case [9, 9]:
            return 1
        case [a, *_, 1] if a > 5:
            return a
        case [1, b, c] | [5, b, c, _]:
            return b * 10 + c
        case [a, *rest, b]:
            return a + b + len(rest)
        case [3] | []:
            return 100 + len(xs)
    return -1


@pytest.mark.parametrize("function", [of_other_lengths, stars, too_short, of_lists], ids=lambda f: f.__name__)
def test_of_a_list(function):
    agrees(with_forward(nn.Module(), function), LISTS)


class TreeByPatterns(nn.Module):
    """Trees of tuples with a word in front: no case but one is for each, and an int is none of them."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rows = nn.Embedding(4, 3)

    def forward(self, tree):
        match tree:
            case ("leaf", int(i)):
                return self.rows.weight[i]
            case ("neg", sub):
                return -self.forward(sub)
            case ("sum", left, right):
                return self.forward(left) + self.forward(right)
            case ("mean", *subs):
                return sum([self.forward(sub) for sub in subs]) / len(subs)
            case _:
                raise ValueError("no such tree")


TREES = [
    ("leaf", 1),
    ("sum", ("leaf", 0), ("neg", ("leaf", 2))),
    ("mean", ("leaf", 0), ("leaf", 3), ("sum", ("leaf", 1), ("leaf", 1))),
]


def test_of_trees():
    agrees(TreeByPatterns(), TREES)


def test_each_element_is_asked_for_once():
    """The elements of a list are got once for all cases of one length, and what is not "a" is not asked for "a" again."""

    class Asked(nn.Module):
        def forward(self, words):
            match words:
                case ["a", "b"]:
                    return 1
                case ["a", other]:
                    return len(other)
                case ["c", "b"]:
                    return 3
            return 4

    program = build(Asked(), sample=[["a", "b"], ["c"]])
    assert print_program(program).count("list.get") <= 4
    agrees(Asked(), [["a", "b"], ["c"], ["a", "xyz"], ["c", "b"], ["c", "a"], ["x", "b"], ["a"], []])


def matched_number(self, x):
    found = []
    for value in (x, x * 2, x / 2):
        match value:
            case 1:
                found.append("one")
            case 1.0 | 2:
                found.append("two")
            case 0.5:
                found.append("half")
            case _:
                found.append("other")
    return found


def test_of_numbers():
    agrees(with_forward(nn.Module(), matched_number), [1, 2, 4, 7])
    agrees(with_forward(nn.Module(), matched_number), [1.0, 2.0, 0.25, 0.5])
