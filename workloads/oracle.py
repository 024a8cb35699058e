"""The right answers: a workload's own model, run eagerly in float64, one instance after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from bench.contract import Workload


def answers(workload: Workload, size: str, seed: int, start: int, stop: int) -> list[tuple[Any, Any]]:
    """The output, and the scores behind it where the output is an index, of the instances from `start` to `stop`."""
    model = load(workload, size, seed).double()
    found = []
    with torch.inference_mode():
        for instance in workload.instances(size, seed, stop)[start:]:
            instance = convert(instance, torch.float64)
            scores = workload.scores(model, instance)
            found.append((to_numpy(model(instance)), None if scores is None else to_numpy(scores)))
    return found


def load(workload: Workload, size: str, seed: int) -> torch.nn.Module:
    """The workload's model with its parameters, in float32."""
    model: torch.nn.Module = workload.model(size)
    parameters: Mapping[str, Any] = workload.params(size, seed)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in parameters.items()})
    return model.eval()


def convert(value: Any, dtype: torch.dtype) -> Any:
    """The same instance with its floating-point tensors in `dtype`."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, list | tuple):
        return type(value)(convert(element, dtype) for element in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: convert(getattr(value, field.name), dtype) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    return value


def to_numpy(value: Any) -> Any:
    """Outputs as nested lists of arrays; a dataclass is the tuple of its fields, what is absent is empty."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, list | tuple):
        return [to_numpy(element) for element in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [to_numpy(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return [] if value is None else value
