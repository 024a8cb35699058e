"""Runs the programs on PyTorch's `meta` device, in place of a GPU. Its tensors have no values, so reading one on the host in
the middle of a mini-batch, or mixing it with a tensor that was left on the processor, raises."""

from __future__ import annotations

import pytest
import torch

from backends.handbatched.backend import HandBatched
from bench.contract import Target
from workloads.structures import map_tensors
from workloads.tests.conftest import spec

NAMES = ("treelstm", "mvrnn", "treegru", "treernn", "treefc", "dagrnn", "simtree", "ragged")
"""The other programs read values on the host: chosen words and tags, certainties."""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_the_device(name: str) -> None:
    found = []
    for device in ("cpu", "meta"):
        model = HandBatched(Target(device), library="blas").compile(spec(name), "tiny", 0, 4)
        outputs = model.run(model.place(spec(name).instances("tiny", 0, 4)))
        seen: list[torch.Size] = []

        def look(tensor: torch.Tensor, seen: list[torch.Size] = seen, device: str = device) -> torch.Tensor:
            assert tensor.device.type == device
            seen.append(tensor.shape)
            return tensor

        map_tensors(look, list(outputs))
        found.append((seen, model.counters()["batches"]))
    assert found[0] == found[1] and found[0][0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so() -> None:
    assert HandBatched(Target("cuda")).available() == "torch sees no CUDA device"
