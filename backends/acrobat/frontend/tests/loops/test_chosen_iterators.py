"""Conditional expressions of which an arm gives an iterator: they give one, whatever the other arm gives."""

# mypy: ignore-errors
from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [0]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Embedding(10, 4)


def given_or_found(self, instance):
    xs, steps = instance
    source = itertools.repeat(None, len(xs)) if steps is None else steps
    total, done = torch.zeros(4), ""
    for step in source:
        if step is None:
            step = "add" if total.sum() >= 0 else "double"
        total = total + self.w.weight[xs[0]] if step == "add" else total * 2
        done += step[0]
    return total, done


def of_several_kinds(self, xs):
    turned = reversed(xs) if xs[0] > 2 else iter(xs)
    doubled = (x * 2 for x in xs) if xs[0] > 2 else xs
    total = torch.zeros(4)
    for pair in itertools.pairwise(xs) if len(xs) > 2 else [(1, 2)]:
        total = total * 2 + self.w.weight[pair[0]] + pair[1]
    return list(turned), list(doubled), list(map(abs, xs) if len(xs) > 1 else (5, 6)), total


def known_when_compiled(self, xs):
    same = enumerate(xs) if self.training else xs
    return list(same), list(same)


def test_an_iterator_or_a_list_that_may_be_none():
    steps = [None if i % 2 else ["add", "double", "add"][: i + 1] for i in range(len(LISTS))]
    agrees(with_forward(Model(), given_or_found), list(zip(LISTS, steps, strict=True)))


@pytest.mark.parametrize("forward", [of_several_kinds, known_when_compiled])
def test_iterators_and_lists(forward):
    agrees(with_forward(Model(), forward), LISTS)


def used_twice(self, xs):
    source = iter(xs) if xs[0] > 2 else [1, 2]
    return list(source), list(source)


def changed_between(self, xs):
    ys = [1, 2, 3]
    source = iter(xs) if xs[0] > 2 else ys
    ys.append(4)
    return list(source)


def changed_meanwhile(self, xs):
    ys = [1, 2, 3]
    for y in iter(xs) if xs[0] > 2 else ys:
        if len(ys) < 6:
            ys.append(y)
    return ys


def computed_from_what_changes(self, xs):
    k, out = 1, []
    for x in (v * k for v in xs) if xs[0] > 1 else iter(xs):
        k += 1
        out.append(x)
    return out


@pytest.mark.parametrize("forward", [used_twice, changed_between, changed_meanwhile, computed_from_what_changes])
def test_what_shows_that_it_is_an_iterator(forward):
    agrees_unless_refused(with_forward(Model(), forward), LISTS, "iterator|another name")


def products(self, xss):
    tuples = [(t, len(t)) for t in itertools.product(*xss)]
    return tuples, len(list(itertools.product(*map(sorted, xss)))), [max(t) for t in itertools.product(*[xs[:2] for xs in xss])]


def test_products_of_lists_whose_number_varies():
    agrees(with_forward(nn.Module(), products), [[[1], [2, 3]], [[1, 2], [3], [4, 5]], [[1, 2]], [[], [1]]])


def number_of_choices(self, xss):
    return len(list(itertools.product(*xss)))


def test_the_product_of_no_lists_is_one_empty_tuple():
    agrees(with_forward(nn.Module(), number_of_choices), [[], [[1], [2, 3]]])
