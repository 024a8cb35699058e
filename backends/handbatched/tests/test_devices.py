"""Runs the programs on the `meta` device, in place of a GPU."""

from __future__ import annotations

import pytest
import torch

from backends.handbatched.backend import HandBatched
from bench.contract import Target
from workloads.tests.conftest import spec
from workloads.tests.meta import check_nothing_leaves_the_device

NAMES = ("treelstm", "mvrnn", "treegru", "treernn", "treefc", "dagrnn", "simtree", "ragged", "lattice")
"""The other programs read values on the host: chosen words and tags, certainties."""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_the_device(name: str) -> None:
    check_nothing_leaves_the_device(
        lambda target: HandBatched(target, library="blas").compile(spec(name), "tiny", 0, 4), name, ["batches"]
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so() -> None:
    assert HandBatched(Target("cuda")).available() == "torch sees no CUDA device"
