"""What the tests of all folders of the compiler share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["aot", "vm"])
def codegen(request: pytest.FixtureRequest) -> str:
    """A test that asks for it is run with each generator of host code."""
    return str(request.param)
