"""`+=`, `|=` and the like of lists, sets and dictionaries: under all their names, or refused where they have several."""

# mypy: ignore-errors

from __future__ import annotations

import re
from collections import defaultdict

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused


class OneName(nn.Module):
    """A tuple may have other names: `+=` makes a new one."""

    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        xs += [torch.ones(4)]
        shape = before = ()
        shape += xs[0].shape
        shape += tuple(xs[1].shape[:1])
        shape += (1, *shape)
        return len(xs), list(shape), len(before), xs[0]


def test_a_list_with_one_name_grows():
    agrees(OneName(), [1.0, -2.0])


class Tensors(nn.Module):
    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        ys = xs
        xs += [torch.ones(4)]
        return len(ys)


class Functions(nn.Module):
    def forward(self, x):
        layers = [torch.tanh, torch.relu]
        other = layers
        layers += [torch.sigmoid]
        return len(other), layers[0](torch.ones(2) * x)


class GivenToAFunction(nn.Module):
    def longer(self, xs):
        xs += [torch.ones(1)]
        return len(xs)

    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        return self.longer(xs), len(xs)


class Sets(nn.Module):
    def forward(self, x):
        seen = {1, 2}
        other = seen
        seen |= {int(x)}
        return len(other)


class Dictionaries(nn.Module):
    def forward(self, x):
        known = {1: 2}
        other = known
        known |= {7: 1}
        return len(other)


class SetsGiven(nn.Module):
    def note(self, seen, x):
        seen |= {int(x)}

    def forward(self, x):
        seen = {1, 2}
        self.note(seen, x)
        return len(seen)


ELSEWHERE = {
    Tensors: "`+=` changes a list that may be seen under another name than `xs`",
    Functions: "`+=` changes a list that may be seen under another name than `layers`",
    GivenToAFunction: "`+=` changes a list that may be seen under another name than `xs`",
    Sets: "`|=` changes a set that may be seen under another name than `seen`",
    Dictionaries: "`|=` changes a dict that may be seen under another name than `known`",
    SetsGiven: "`|=` changes a set that may be seen under another name than `seen`",
}


@pytest.mark.parametrize("cls", ELSEWHERE, ids=lambda c: c.__name__)
def test_what_has_two_names_does_not_grow(cls):
    agrees_unless_refused(cls(), [1.0, -2.0], re.escape(ELSEWHERE[cls]))


class Parts(nn.Module):
    """Parts of lists and dictionaries that have no other name."""

    def forward(self, x):
        known = {1: [1]}
        known[1] += [2]
        known[int(x)] = [5]
        known[int(x)] += [int(x)]
        rows = [[1], [2]]
        rows[0] += [5]
        rows[len(rows) - 1] += rows[0]
        groups = defaultdict(list)
        for i in range(4):
            groups[i % 2] += [i]
        return rows, list(known.items()), sorted(groups.items())


def test_parts_grow():
    agrees(Parts(), [1.0, -2.0])


class PartOfAList(nn.Module):
    def forward(self, x):
        rows = [[1], [2]]
        row = rows[0]
        rows[0] += [int(x)]
        return row


class PartOfADictionary(nn.Module):
    def forward(self, x):
        known = {1: {1}}
        seen = known[1]
        known[1] |= {int(x) + 5}
        return len(seen)


@pytest.mark.parametrize("cls", [PartOfAList, PartOfADictionary])
def test_a_part_with_a_name_does_not(cls):
    agrees_unless_refused(cls(), [1.0, -2.0], r"`\+=` changes a part of `(rows|known)` that may be seen elsewhere")


class NonlocalNames(nn.Module):
    """A function inside gives a name of the outer one another list, or makes the only list longer."""

    def forward(self, x):
        xs = ys = [1]
        zs = [2]

        def other():
            nonlocal xs
            xs = [*xs, int(x)]

        def longer():
            nonlocal zs
            zs += [3]
            zs.append(4)

        other()
        longer()
        return xs, ys, zs


def test_names_of_an_outer_function_get_other_lists():
    agrees(NonlocalNames(), [1.0, -2.0])


class NonlocalWithTwoNames(nn.Module):
    def forward(self, x):
        xs = [1]
        ys = xs

        def longer():
            nonlocal xs
            xs += [int(x)]

        longer()
        return ys


def test_lists_of_an_outer_function_with_two_names_do_not_grow():
    message = "this call changes a list or an object that may be seen under another name"
    agrees_unless_refused(NonlocalWithTwoNames(), [1.0, -2.0], message)
