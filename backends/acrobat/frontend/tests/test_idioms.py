"""Python's idioms in the interpreter: each gives or raises what Python does, or is refused as `idioms.REFUSED` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests import idioms, idioms_of_collections, idioms_of_tensors
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


def module(function: Callable[[Any], Any]) -> nn.Module:
    made = nn.Module()
    made.forward = function
    return made


IDIOMS = [*idioms.IDIOMS, *idioms_of_collections.IDIOMS]
REFUSED = idioms.REFUSED | idioms_of_collections.REFUSED


@pytest.mark.parametrize("function", IDIOMS, ids=lambda f: f.__name__)
def test_idiom(function: Callable[[Any], Any]) -> None:
    compare(function, LISTS)


@pytest.mark.parametrize("function", idioms_of_tensors.IDIOMS, ids=lambda f: f.__name__)
def test_idiom_of_tensors(function: Callable[[Any], Any]) -> None:
    compare(function, [xs for xs in LISTS if xs])


def compare(function: Callable[[Any], Any], lists: Sequence[list[int]]) -> None:
    sample = [list(xs) for xs in lists]
    program, refusal = None, ""
    try:
        program = build(module(function), sample=sample)
    except CompileError as error:
        refusal = str(error)
    if program is None:
        assert re.search(REFUSED.get(function.__name__, "^$"), refusal), refusal
        return
    verify(program)
    interpreter = Interpreter(program)
    compared = 0
    for xs in lists:
        try:
            expected = function(list(xs))
        except Exception:
            with pytest.raises(InstanceError):
                interpreter.run(list(xs))
            continue
        assert_same(as_tensors(interpreter.run(list(xs))), expected, str(xs))
        compared += 1
    assert compared, "Python raises an error for each list, so that no result was compared"
