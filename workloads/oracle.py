"""The right answers: a workload's own model, run eagerly in float64, one instance after the other."""

from __future__ import annotations

from typing import Any

import torch

from bench.contract import Workload
from workloads.spec import loaded
from workloads.structures import arrays, map_tensors


def answers(workload: Workload, size: str, seed: int, start: int, stop: int) -> list[tuple[Any, Any]]:
    """The output, and the scores behind it where the output is an index, of the instances from `start` to `stop`."""
    model = loaded(workload, size, seed, torch.float64)
    found = []
    with torch.inference_mode():
        for instance in workload.instances(size, seed, stop)[start:]:
            instance = map_tensors(lambda t: t.double() if t.is_floating_point() else t, instance)
            scores = workload.scores(model, instance)
            found.append((arrays(model(instance)), None if scores is None else arrays(scores)))
    return found
