"""The program that measures a device's constants, on the emulated one: that it runs to its end, and does not hang."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.acrobat.kernels.cuda.constants import measure
from backends.acrobat.kernels.cuda.target import CudaTarget, UnsupportedCuda
from backends.acrobat.runtime.cuda.tests.emulated import Emulated, emulated


@pytest.fixture
def driver() -> Iterator[Emulated]:
    with emulated() as driver:
        yield driver


def test_it_measures_all_constants(driver: Emulated) -> None:
    found = measure(CudaTarget.detect())
    assert list(found) == ["barrier", "launch", "round trip", "dependent load", "fp32 peak"]
    assert found["launch"] > 0 and found["round trip"] > 0
    assert driver.calls("cuLaunchCooperativeKernel") > 0


def test_a_device_that_does_not_answer_is_an_error(driver: Emulated) -> None:
    """Without this, the program would look for the answer until somebody ends it."""
    driver.fail("run", 700)
    with pytest.raises(UnsupportedCuda, match="an illegal memory access"):
        measure(CudaTarget.detect())
