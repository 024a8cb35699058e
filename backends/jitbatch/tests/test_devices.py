"""Runs models on PyTorch's `meta` device, in place of a GPU. Its tensors have no values, so reading one on the host in the
middle of a mini-batch, or mixing it with a tensor that was left on the processor, raises."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backends.jitbatch.backend import GRANULARITIES, JitBatch
from bench.contract import Target
from workloads.structures import map_tensors
from workloads.tests.conftest import spec

NAMES = ("treelstm", "mvrnn", "birnn", "dagrnn", "lattice")
"""Trees, sequences, a grid and a lattice; none of them waits for a value, since this device has none."""


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_the_device(name: str, granularity: Any) -> None:
    if granularity == "subtree" and name not in ("treelstm", "mvrnn"):
        pytest.skip("it has no subtrees")
    found = []
    for device in ("cpu", "meta"):
        model = JitBatch(Target(device), granularity).compile(spec(name), "tiny", 0, 4)
        outputs = model.run(model.place(spec(name).instances("tiny", 0, 4)))
        seen: list[torch.Size] = []

        def look(tensor: torch.Tensor, seen: list[torch.Size] = seen, device: str = device) -> torch.Tensor:
            assert tensor.device.type == device
            seen.append(tensor.shape)
            return tensor

        map_tensors(look, outputs)
        counters = model.counters()
        found.append((seen, counters["batches"], counters["launches"]))
    assert found[0] == found[1] and found[0][0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so() -> None:
    assert JitBatch(Target("cuda")).available() == "torch sees no CUDA device"
