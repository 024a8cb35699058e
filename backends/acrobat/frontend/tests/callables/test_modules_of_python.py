# mypy: ignore-errors
"""Functions of Python's own modules: some are compiled as written there; what is wrong in others is told at the user's call."""

from __future__ import annotations

import shlex
import statistics
import string

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def of_words(self, text):
    return len(shlex.split(text + " x"))  # not of the instance's text alone


def of_numbers(self, xs):
    return statistics.mean(xs)


@pytest.mark.parametrize(
    ("function", "sample", "called"),
    [(of_words, ["a b", "c"], "shlex.split"), (of_numbers, [[1.0, 2.0], [3.0]], "statistics.mean")],
)
def test_what_is_wrong_in_a_module_of_python_is_told_at_the_call(function, sample, called) -> None:
    with pytest.raises(CompileError, match=f"`{called}` of Python's own modules cannot be compiled") as error:
        build(with_forward(nn.Module(), function), sample=sample)
    assert [p.span.file for p in error.value.problems] == [__file__]


def test_a_function_of_python_that_is_in_the_language() -> None:
    agrees(with_forward(nn.Module(), lambda self, text: string.capwords(text)), ["the dog", "barks", ""])
