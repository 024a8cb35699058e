"""Powers of ints whose exponent is known at run time only, of bools, and by constants below zero. Against eager Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def by_run_time(self: Any, pair: Any) -> Any:
    a, b = pair
    return a**b, 3**b, pow(a, b), (-1) ** b, a ** (b > 2), (a > 0) ** b, [2**i for i in range(b)]


def by_places(self: Any, pair: Any) -> Any:
    return sum(abs(pair[0]) * 31**place for place, _ in enumerate(range(pair[1]))) % 200


def by_constants(self: Any, pair: Any) -> Any:
    return pair[0] ** -1, pair[0] ** -3, (pair[0] > 100) ** 70, (pair[0] - pair[0]) ** 0, pair[0] ** True


PAIRS = [(2, 3), (3, 0), (-3, 5), (-2, 11), (5, 1), (-1, 9)]


@pytest.mark.parametrize("forward", [by_run_time, by_places, by_constants])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(nn.Module(), forward), PAIRS)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_in_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(nn.Module(), lambda self, pair: by_run_time(self, pair)), PAIRS, codegen, tmp_path)


WHOLE = with_forward(nn.Module(), lambda self, pair: pair[0] ** pair[1])


@pytest.mark.parametrize("pair", [(-2, 63), (2, 62), (3, 39), (0, 10**15), (-1, 2**62 + 1), (0, 0), (-(2**63), 1)])
def test_the_largest_and_the_longest(pair: tuple[int, int]) -> None:
    interpreter = Interpreter(build(WHOLE, sample=PAIRS))
    power = pair[0] ** (pair[1] if abs(pair[0]) > 1 else pair[1] % 2 + 2 * (pair[1] > 0))  # as Python's, which would take long
    assert interpreter.run(pair) == power


@pytest.mark.parametrize("pair", [(2, 63), (3, 40), (-2, 64)])
def test_what_does_not_fit(pair: tuple[int, int]) -> None:
    with pytest.raises(InstanceError, match="64 bits"):
        Interpreter(build(WHOLE, sample=PAIRS)).run(pair)


@pytest.mark.parametrize("base", [2, 0])
def test_an_exponent_below_zero_is_an_error_of_the_instance(base: int) -> None:
    with pytest.raises(InstanceError, match=r"ValueError: \d \*\* -1 is a float in Python: write `float\(x\) \*\* n`"):
        Interpreter(build(WHOLE, sample=PAIRS)).run((base, -1))
