"""Objects made of the attributes of others, and of what is spread: `State(**{**vars(self), **changes})`, `State(*pair)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

NUMBERS = [1, 2, 3, 5]


@dataclass(frozen=True)
class State:
    h: torch.Tensor
    n: int

    def replace(self, **changes):
        return State(**{**self.__dict__, **changes})

    def by_dict(self, **changes):
        return State(**dict(vars(self), **changes))

    def by_union(self, **changes):
        return type(self)(**(self.__dict__ | changes))


class Plain:
    def __init__(self, xs, n):
        self.xs = xs
        self.n = n

    def replace(self, **changes):
        return Plain(**{**vars(self), **changes})


@dataclass
class Held:
    xs: list
    n: int


def replaced_in_a_loop(self, n: int):
    s = State(torch.ones(2), n)
    for i in range(n):
        s = s.replace(h=s.h + i)
    return s.replace(n=7).n, s.by_dict(n=s.n + 1).n, s.by_union(h=s.h * 2).h, vars(s)["n"], "n" in vars(s)


def replaced_in_a_plain_object(self, n: int):
    first = Plain([n], 1)
    other = first.replace(n=n + 1, xs=[n, n])
    return first.xs, first.n, other.xs, other.n


@pytest.mark.parametrize("forward", [replaced_in_a_loop, replaced_in_a_plain_object])
def test_objects_are_made_of_the_attributes_of_others(forward) -> None:
    agrees(with_forward(nn.Module(), forward), NUMBERS)


def spread_dictionary(self, n: int):
    xs = [n]
    entries: dict[str, Any] = {"xs": xs, "n": 2}
    made = Held(**entries)
    made.xs.append(5)
    return xs, torch.ones(2)


def spread_display(self, n: int):
    xs = [n]
    made = Held(**{"xs": xs, "n": 2})  # type: ignore[arg-type]  # noqa: PIE804
    made.xs.append(5)
    return xs, torch.ones(2)


def spread_tuple(self, n: int):
    xs = [n]
    made = Held(*(xs, 2))
    made.xs.append(5)
    return xs, torch.ones(2)


def spread_tuple_of_a_plain_object(self, n: int):
    xs = [n]
    pair = (xs, 2)
    made = Plain(*pair)
    made.xs.append(5)
    return xs, torch.ones(2)


def spread_attributes(self, n: int):
    first = Held([n], 1)
    other = Held(**vars(first))
    other.xs.append(5)
    return first.xs, torch.ones(2)


SPREAD = [spread_dictionary, spread_display, spread_tuple, spread_tuple_of_a_plain_object, spread_attributes]


@pytest.mark.parametrize("forward", SPREAD)
def test_what_was_spread_is_seen_under_two_names(forward) -> None:
    """The other name had kept the old list."""
    agrees_unless_refused(with_forward(nn.Module(), forward), NUMBERS, "may be seen under another name")


def named_attributes(self, n: int):
    made = Held([n], 1)
    entries = vars(made)
    made.n = 5
    return entries["n"], torch.ones(2)


def test_the_attributes_of_an_object_have_no_name() -> None:
    with pytest.raises(CompileError, match="is used at once"):
        build(with_forward(nn.Module(), named_attributes), sample=NUMBERS)


def given_twice(self, n: int):
    entries: dict[str, Any] = {"xs": [n], "n": 2}
    return Held(n=3, **entries).n, torch.ones(2)


def test_an_argument_that_is_given_twice_is_refused() -> None:
    with pytest.raises(CompileError, match="`n` is given twice in this call"):
        build(with_forward(nn.Module(), given_twice), sample=NUMBERS)
