"""Strings that are searched from a place on, and texts whose last fields a list gives."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, with_forward

TEXTS = ["abcabc", "a", "xbcb", ""]
NUMBERS = [[3, 4, 5], [1, 2, 7]]
CALL, DASHED = "%s(%d,%d,%d) %%", "%d-%d-%.1f"


def searched(self, text):
    found = [text.find("b", i) for i in range(-3, 7)], [text.rfind("b", 0, i) for i in range(-3, 7)]
    return found, [text.count("b", i, 5) for i in range(4)]


def ends(self, text):
    starts = [text.startswith("bc", i) for i in range(4)], [text.startswith(("a", "x"), i, 3) for i in range(4)]
    return starts, [text.endswith("c", i, 3) for i in range(4)], text.startswith("a", 0, None)


def indices(self, text):
    return [text.index("b", i) for i in range(2)] if "b" in text else [], text.rindex("c", 1) if "c" in text else -1


@pytest.mark.parametrize("forward", [searched, ends, indices])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), TEXTS)


def missing(self, text):
    return text.index("b", 3)


def test_what_is_not_there(tmp_path):
    executable = compile(with_forward(nn.Module(), missing), sample=TEXTS, options=Options(codegen="vm"), cache_folder=tmp_path)
    assert executable(["abcabc"]) == [4]
    with pytest.raises(InstanceError, match="substring not found"):
        executable(["abc"])


def formatted(self, numbers):
    more = [n + 1 for n in numbers]
    return CALL % ("a", *more), DASHED % (*more,)


def test_formats_with_a_list():
    agrees(with_forward(nn.Module(), formatted), NUMBERS)


def test_lists_of_another_length(tmp_path):
    model = with_forward(nn.Module(), formatted)
    executable = compile(model, sample=NUMBERS, options=Options(codegen="vm"), cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="not as many arguments"):
        executable([[1, 2]])
