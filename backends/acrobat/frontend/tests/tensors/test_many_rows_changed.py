"""Assignment to rows of tensors with more rows than are taken one by one, at places that are known at run time only."""

# mypy: ignore-errors
from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, assert_same, with_forward

SAMPLE = [[3, 5, 70], [1], [79, 0]]


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(80, 4))
        self.b = nn.Parameter(torch.randn(80))


def one_place(self, xs):
    s = self.b.clone()
    s[xs[0]] = 5.0
    return s


def several_places(self, xs):
    s = self.b.clone()
    s[sorted(set(xs))] = -math.inf
    return torch.softmax(s, 0)


def one_row(self, xs):
    s = self.w.clone()
    s[xs[0]] = self.b[:4]
    return s


def several_rows(self, xs):
    s = self.w.clone()
    s[xs] = 0.0
    return s


def places_in_a_tensor(self, xs):
    s = self.b.clone()
    s[torch.tensor(xs)] = 2.0
    return s


def counts(self, xs):
    s = torch.zeros(100)
    for x in xs:
        s[x] += 1.0
    return s


def values_for_places(self, xs):
    s = torch.zeros(100)
    s[xs] = self.b[xs]
    return s


def from_the_end(self, xs):
    s = self.b.clone()
    s[-xs[0] - 1] = 5.0
    return s


def ints(self, xs):
    s = torch.zeros(90, dtype=torch.long)
    s[xs[0]] = 5
    s[xs] += 1
    return s


def the_last_value_stays(self, xs):
    s = self.b.clone()
    s[xs + xs[:1]] = self.b[: len(xs) + 1] * 2
    return s


def parts_of_rows(self, xs):
    s = self.w.clone()
    s[xs[0], 2] = 9.0
    s[xs[-1], 1:3] = self.b[:2]
    s[xs[0]] *= 2.0
    return s


def rows_for_places(self, xs):
    s = self.w.clone()
    s[xs] = self.w[xs] * 3.0
    return s


def one_row_for_several(self, xs):
    s = self.w.clone()
    s[xs] = self.w[0]
    return s


def values_of_the_tensor_itself(self, xs):
    s = self.b.clone()
    s[xs[0]] = s[0] * s[1]
    s[xs] = s.max()
    return s


def flags(self, xs):
    m = torch.zeros(80, dtype=torch.bool)
    m[xs] = True
    m[xs[0]] = False
    return m, self.b[m].sum(), self.b.masked_fill(m, 0.0)


def no_place(self, xs):
    s = self.b.clone()
    s[[x for x in xs if x > 100]] = 1.0
    return s


def three_dimensions(self, xs):
    s = torch.zeros(70, 2, 3)
    s[xs[0] % 70] = self.w[0, :3]
    s[xs[0] % 70, 1] = 4.0
    s[[x % 70 for x in xs]] = 1.5
    return s


def flags_looked_at_between(self, xs):
    seen = torch.zeros(80, dtype=torch.bool)
    out = []
    for x in xs:
        if not seen[x]:
            out.append(x)
        seen[x] = True
    return out, seen.sum()


def ints_among_floats(self, xs):
    s = self.b.clone()
    s[xs[0]] = xs[0]
    s[xs] = 7
    return s


FUNCTIONS = [
    one_place,
    several_places,
    one_row,
    several_rows,
    places_in_a_tensor,
    counts,
    values_for_places,
    from_the_end,
    ints,
    the_last_value_stays,
    parts_of_rows,
    rows_for_places,
    one_row_for_several,
    values_of_the_tensor_itself,
    flags,
    no_place,
    three_dimensions,
    flags_looked_at_between,
    ints_among_floats,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_give_eagers_results(function):
    agrees(with_forward(Weights(), function), SAMPLE)


def test_they_do_natively(tmp_path: Path):
    def forward(self, xs):
        return (
            several_places(self, xs),
            parts_of_rows(self, xs),
            flags(self, xs),
            ints(self, xs),
            the_last_value_stays(self, xs),
        )

    model = with_forward(Weights(), forward)
    executable = compile(model, sample=SAMPLE, checked=True, cache_folder=tmp_path, options=Options(codegen="vm"))
    with torch.no_grad():
        for mine, instance in zip(executable(SAMPLE), SAMPLE, strict=True):
            assert_same(mine, model(instance), str(instance))


@pytest.mark.parametrize("function", [one_place, several_places])
@pytest.mark.parametrize("place", [100, -101])
def test_a_place_outside_is_an_error_of_the_instance(function, place, tmp_path: Path):
    model = with_forward(Weights(), function)
    executable = compile(model, sample=SAMPLE, cache_folder=tmp_path, options=Options(codegen="vm"))
    with pytest.raises(InstanceError, match=f"IndexError: index {place} is out of bounds for dimension 0"):
        executable([[place]])


def test_several_places_with_more_indices_are_refused():
    def forward(self, xs):
        s = self.w.clone()
        s[xs, 1] = 2.0
        return s

    with pytest.raises(CompileError, match="at most 64 rows where more indices follow"):
        build(with_forward(Weights(), forward), sample=SAMPLE)
