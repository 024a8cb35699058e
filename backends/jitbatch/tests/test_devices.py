"""Runs models on the `meta` device, in place of a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backends.jitbatch.backend import GRANULARITIES, JitBatch
from bench.contract import Target
from workloads.tests.conftest import spec
from workloads.tests.meta import check_nothing_leaves_the_device

NAMES = ("treelstm", "mvrnn", "birnn", "dagrnn", "lattice")
"""Trees, sequences, a grid and a lattice; none of them waits for a value, since this device has none."""


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_the_device(name: str, granularity: Any) -> None:
    if granularity == "subtree" and name not in ("treelstm", "mvrnn"):
        pytest.skip("it has no subtrees")
    check_nothing_leaves_the_device(
        lambda target: JitBatch(target, granularity).compile(spec(name), "tiny", 0, 4), name, ["batches", "launches"]
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so() -> None:
    assert JitBatch(Target("cuda")).available() == "torch sees no CUDA device"
