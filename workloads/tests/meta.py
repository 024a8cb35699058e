"""PyTorch's `meta` device in place of a GPU. Its tensors have no values, so reading one on the host in the middle of a
mini-batch, or mixing it with a tensor that was left on the processor, raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from bench.contract import Compiled, Target
from workloads.structures import map_tensors
from workloads.tests.conftest import spec


def check_nothing_leaves_the_device(compiled: Callable[[Target], Compiled], name: str, counts: Sequence[str]) -> None:
    """Run the workload `name` at size tiny, as `compiled` for a target, on the processor and on `meta`: the outputs lie on the
    device, their shapes are the same, and so are these counters."""
    found = []
    for device in ("cpu", "meta"):
        model = compiled(Target(device))
        outputs = model.run(model.place(spec(name).instances("tiny", 0, 4)))
        shapes: list[torch.Size] = []

        def look(tensor: torch.Tensor, shapes: list[torch.Size] = shapes, device: str = device) -> torch.Tensor:
            assert tensor.device.type == device
            shapes.append(tensor.shape)
            return tensor

        map_tensors(look, list(outputs))
        counters = model.counters()
        found.append((shapes, [counters[count] for count in counts]))
    assert found[0] == found[1] and found[0][0]
