"""Named tuples of the source, of which one is chosen at run time, as keys and beside those of the instance, against eager
PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

from typing import NamedTuple

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Ev(NamedTuple):
    kind: str
    value: int


EVS = [Ev("a", 1), Ev("a", 2), Ev("b", 1)]
IDX = {e: i for i, e in enumerate(EVS)}


def as_keys(self, xs):
    e = EVS[xs[0] % 3]
    return IDX[e]


def made_as_keys(self, xs):
    e = Ev("a" if xs[0] > 2 else "b", 1)
    return IDX[e], e in IDX, IDX.get(Ev("c", xs[0]), -1), Ev("a", xs[0]) in EVS


def kept_in_a_list(self, xs):
    out = [EVS[0]]
    for x in xs:
        out.append(EVS[x % 3])
    return [IDX[e] for e in out], [tuple(e) for e in out]


def with_fields(self, xs):
    e = EVS[xs[0] % 3]
    return e.kind, e.value


def as_a_result(self, xs):
    return EVS[xs[0] % 3]


def pick(self, xs):
    return EVS[xs[0] % 3]


def beside_made_ones(self, xs):
    last = Ev("q", xs[-1])
    out = []
    for x in xs:
        last = pick(self, [x])
        if last.kind == "b":
            break
        out.append(last)
    out.extend(Ev("z", p) for p in xs)
    return out, last.value


def walked_over(self, xs):
    return [i for i, e in enumerate(EVS) if e.value > xs[0] % 2]


def of_the_instance_as_keys(self, es):
    return es[-1].kind, IDX[es[0]]


def in_place_of_one_of_the_instance(self, es):
    last = es[-1]
    k = 0
    while k < 3:
        last = EVS[(last.value + k) % 3]
        if last.kind == "b":
            break
        k += 1
    return last.kind


def beside_those_of_the_instance(self, es):
    out = []
    last = es[-1]
    for k in range(3):
        last = EVS[(last.value + k) % 3]
        out.append(last)
    out.extend(Ev("z", p) for p in sorted({e.value for e in es}))
    return out


OF_INTS = [as_keys, made_as_keys, kept_in_a_list, with_fields, as_a_result, beside_made_ones, walked_over]
OF_EVENTS = [of_the_instance_as_keys, in_place_of_one_of_the_instance, beside_those_of_the_instance]


@pytest.mark.parametrize("function", OF_INTS)
def test_they_give_eagers_results(function):
    agrees(with_forward(nn.Identity(), function), [[3, 5, 70], [1], [79, 0], [2]])


@pytest.mark.parametrize("function", OF_EVENTS)
def test_they_do_beside_those_of_the_instance(function):
    agrees(with_forward(nn.Identity(), function), [[Ev("a", 1), Ev("b", 1)], [Ev("a", 2)], [Ev("b", 1)]])
