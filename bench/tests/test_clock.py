"""Outputs that are not complete when the clock stops, told from noise."""

from __future__ import annotations

import pytest

from bench.clock import Sample, complete
from bench.verify import flatten


@pytest.mark.parametrize(
    ("late_us", "fine"),
    [
        ([], True),
        ([0, 10, -5, 3], True),
        ([0, 9000, 8000, 10, 3], True),  # others had the processor now and then
        ([4000, 5000, 4500, 4200], False),
        ([4000, 5000, 4500, 0], True),
        ([4000] * 9 + [0], False),
        ([900] * 9, True),  # a tenth of the run
    ],
)
def test_complete(late_us: list[int], fine: bool) -> None:
    samples = [Sample(0, 9_000_000, late * 1000, flatten([]), {}) for late in late_us]
    assert complete([*samples, Sample(0, 1, None, flatten([]), {})]) is fine
