"""The C++ expression for the largest of several depths, of which one may be 0."""

from __future__ import annotations

import pytest

from backends.acrobat.codegen.values import ValueWriter


@pytest.mark.parametrize(
    ("depths", "code"),
    [
        ([], "0"),
        (["0"], "0"),
        (["x_depth"], "x_depth"),
        (["0", "x_depth"], "x_depth"),  # std::max takes two numbers of one type, and 0 is an int
        (["x_depth", "0", "y_depth"], "std::max(x_depth, y_depth)"),
        (["x_depth", "y_depth", "0", "z_depth"], "std::max({x_depth, y_depth, z_depth})"),
    ],
)
def test_the_largest_depth_is_of_one_type(depths: list[str], code: str) -> None:
    assert ValueWriter.latest(depths) == code
