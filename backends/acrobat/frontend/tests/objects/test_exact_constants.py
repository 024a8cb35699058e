"""Constants that Python finds equal and programs tell apart: 1, 1.0 and True, 0.0 and -0.0; and lists that are made anew."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1]]
ONES = (1,), (True,), (1.0,)
ZEROS = (0.0,), (-0.0,)
TWO, THREE = "a b", "c d e"
RULES = ("s", ["np", "vp"]), ("np", ["n"])


def shown(number):
    return f"{number}"


def first_shown(numbers):
    return f"{numbers[0]}"


def count(names):
    return len(names)


def calls(xs):
    """Calls with equal constants, each of which needs a function of its own."""
    numbers = shown(1), shown(True), shown(1.0), shown(0.0), shown(-0.0), shown(0), shown(False)
    return numbers, *map(first_shown, ONES), *map(first_shown, ZEROS)


def made_lists(xs):
    return count(TWO.split()), count(THREE.split()), count(TWO.split("b")), count(RULES[0]), count(RULES[1][1])


def chosen_signs(xs):
    zero = 0.0
    if len(xs) > 2:
        zero = -0.0
    signs = [1 / torch.tensor(0.0 if x > 2 else -0.0) for x in xs]
    return 1 / torch.tensor(zero), signs


def signs_of_tensors(xs):
    a = [1 / (torch.full((2,), 1.0) * x * 0.0) for x in xs]
    b = [1 / (torch.full((2,), 1.0) * x * -0.0) for x in xs]
    return a, b


@pytest.mark.parametrize("function", [calls, made_lists, chosen_signs, signs_of_tensors])
def test_constants_are_not_taken_for_each_other(function):
    agrees(module(function), LISTS)


@pytest.mark.parametrize("function", [chosen_signs, signs_of_tensors])
def test_kernels_tell_the_sign_of_zero_apart(function, tmp_path: Path):
    agrees_natively(module(function), LISTS, "aot", tmp_path)


def one_or_true(xs):
    return [1 if x > 2 else True for x in xs]


def one_or_true_later(xs):
    found = 1
    if len(xs) > 2:
        found = True
    return found


@pytest.mark.parametrize("function", [one_or_true, one_or_true_later])
def test_an_int_and_an_equal_bool_differ_in_type(function):
    agrees(module(function), LISTS)
