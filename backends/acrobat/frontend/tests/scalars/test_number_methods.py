"""Methods and attributes of Python's ints, floats and bools. Against eager Python."""

# mypy: ignore-errors

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


@dataclass
class Number:
    value: float


FLOATS = [1.0, -2.5, 0.0, -0.0, 1e300, 0.1, 3.0, math.inf, -math.inf, math.nan, 2.0**-40]
FINITE = [x for x in FLOATS if x - x == 0 and abs(x) < 1e18]
INTS = [0, 1, -1, 2, -8, 7, 255, 256, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
HALF, THREE = 0.5, 3


def of_floats(self, x):
    return (
        x.is_integer(),
        x.real == x,
        x.imag,
        1 if x.conjugate().is_integer() else 0,
        abs(x).is_integer(),
        (x + 0.5).is_integer(),
    )


def ratios(self, x):
    top, bottom = x.as_integer_ratio()
    return top, bottom, x.as_integer_ratio()


def of_ints(self, n):
    return (
        n.bit_length(),
        n.real,
        n.imag,
        n.numerator,
        n.denominator,
        n.conjugate(),
        (n // 2).bit_length(),
        n.as_integer_ratio(),
    )


def of_counts(self, n):
    return n.bit_count(), (n > 2).bit_length(), (n > 2).real, (n > 2).conjugate(), (n > 2).imag


def known(self, n):
    return (
        HALF.is_integer(),
        THREE.bit_length(),
        HALF.as_integer_ratio(),
        self.width.bit_length() * n,
        self.width.real,
        HALF.imag,
    )


def by_class(self, xs):
    return [float.is_integer(x) for x in xs], list(map(float.is_integer, xs)), sum(map(float.is_integer, xs))


def of_fields(self, number):
    value = float(number.value)
    return (value.is_integer(), int(value)) if value.is_integer() else (False, 0)


def with_width(function: Any) -> nn.Module:
    model = nn.Module()
    model.width = 12
    return with_forward(model, function)


CASES = {
    "floats": (of_floats, FLOATS),
    "ratios": (ratios, FINITE),
    "ints": (of_ints, INTS),
    "counts": (of_counts, [n for n in INTS if n != -(2**63)]),
    "known": (known, INTS[:4]),
    "by their class": (by_class, [[1.0, 1.5], [2.0, -0.0]]),
    "fields": (of_fields, [Number(3), Number(-2.5), Number(7.0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_as_python(name: str) -> None:
    function, instances = CASES[name]
    agrees(with_width(function), instances)


def test_what_has_no_ratio_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_width(ratios), sample=FINITE))
    for x, message in ((math.nan, "ValueError"), (math.inf, "OverflowError"), (1e300, "overflow|int")):
        with pytest.raises(InstanceError, match=message):
            interpreter.run(x)


def test_integers_among_ints() -> None:
    model = with_width(lambda self, n: n.is_integer())
    if sys.version_info >= (3, 12):
        agrees(model, INTS)
        return
    with pytest.raises(CompileError, match="an int has no attribute `is_integer`"):
        build(model, sample=INTS)


LACKING = {
    "hex": lambda self, x: x.hex(),
    "bit_length": lambda self, x: x.bit_length(),
    "numerator": lambda self, x: x.numerator,
}


@pytest.mark.parametrize("name", LACKING)
def test_what_floats_lack(name: str) -> None:
    with pytest.raises(CompileError, match=f"a float has no attribute `{name}`"):
        build(with_width(LACKING[name]), sample=FLOATS)
