"""Loops over an iterator that has a name, from which the loop's body, functions that it calls or what follows takes more."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [0], [1, 2, 3, 4], [9, 8, 1]]
NESTED = [[1], [8, 1, 2, 9, 3], [1, 8, 8, 2, 9, 1, 9, 4]]


def head_and_rest(words):
    first = next(words)
    for word in words:
        first = first * 2 + word
    return first


def head_and_list(words):
    first = next(words)
    return first, list(words)


def up_to(words, last):
    taken = []
    for word in words:
        if word == last:
            return taken
        taken.append(word)
    return taken


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Embedding(10, 4)

    def embed(self, i):
        return self.w(torch.tensor([i])).squeeze(0)

    def group(self, words):
        """A group ends with 9, and 8 begins one inside of it."""
        h = torch.zeros(4)
        for word in words:
            if word == 9:
                break
            h = torch.tanh(h + (self.group(words) if word == 8 else self.embed(word)))
        return h


def takes_more(self, xs):
    words, out = iter(xs), []
    for x in words:
        if x > 2:
            x = x * next(words, 1)
        out.append(self.embed(x % 10))
    return out


def in_two_loops(self, xs):
    words, before, behind = iter(xs), [], []
    for x in words:
        if x == 1:
            break
        before.append(x)
    for x in words:
        behind.append(x + 1)
    return before, behind


def numbered(self, xs):
    words, out = enumerate(xs), []
    for i, x in words:
        if x == 3:
            continue
        out.append(i * x)
        if x == 1:
            next(words, None)
    return out


def by_functions(self, xs):
    words = iter(xs)
    first = up_to(words, 1)
    second = up_to(words, 2)
    return first, second, next(words, -1)


def rest_of_a_function(self, xs):
    words = iter(xs)
    return head_and_rest(words), next(words, -1)


def by_methods(self, xs):
    words = iter(xs)
    return self.group(words), next(words, -1)


def by_nested(self, xs):
    words = iter(xs)

    def group():
        out = []
        for word in words:
            if word == 9:
                break
            out.append(group() if word == 8 else self.embed(word))
        return torch.stack(out).sum(0)

    return group(), next(words, -1)


@pytest.mark.parametrize("forward", [takes_more, in_two_loops, numbered, by_functions, rest_of_a_function])
def test_more_is_taken(forward):
    agrees(with_forward(Model(), forward), LISTS)


@pytest.mark.parametrize("forward", [by_methods, by_nested])
def test_recursions(forward):
    agrees(with_forward(Model(), forward), NESTED)


def rest_as_list(self, xs):
    words = iter(xs)
    return head_and_list(words), next(words, -1)


def rest_inside(self, xs):
    words = iter(xs)

    def rest():
        return next(words), sum(words)

    return rest(), next(words, -1)


@pytest.mark.parametrize("forward", [rest_as_list, rest_inside])
def test_the_rest_that_a_function_takes_is_gone(forward):
    """The caller had found it in the iterator again."""
    agrees_unless_refused(with_forward(Model(), forward), LISTS, "used by `next` alone")


def one_or_the_other(xs):
    return iter(xs) if xs[0] > 2 else xs


def handed_on(xs):
    return one_or_the_other(xs)


def early(xs):
    if xs[0] > 2:
        return iter(xs)
    return xs


@pytest.mark.parametrize("source", [one_or_the_other, handed_on, early])
def test_what_may_be_a_list_is_walked_over_again(source):
    def forward(self, xs):
        words, out = source(xs), []
        for x in words:
            out.append(x * 2)
        for x in words:
            out.append(x + 1)
        return out

    agrees_unless_refused(with_forward(Model(), forward), LISTS, "an iterator")


def test_another_iterator_gets_the_name():
    def forward(self, xs):
        words, out = iter(xs), []
        for x in words:
            out.append(x)
            if x == 1:
                words = iter([7, 7])
            out.append(next(words, 0))
        return out

    agrees_unless_refused(with_forward(Model(), forward), LISTS, "iterator|`next`")
