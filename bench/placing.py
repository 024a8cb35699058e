"""Calls `Compiled.place`, which may only bring tensors to where the system reads them, and judges what that has cost.

It is not called for instances without tensors. For others its cost is compared with that of copying the tensors once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

from bench.contract import Compiled, Instance

TIMES = 20.0  # placing may take so many times as long as a copy, and in addition:
NUMBER_S = 5e-7  # for each number: twice what the slowest known interface, DyNet's, needs, which takes numbers one by one
TENSOR_S = 1e-4  # for each tensor: a call of a library
FIXED_S = 0.1  # once: what a library does in its first call


def place(compiled: Compiled, instances: Sequence[Instance]) -> tuple[list[Instance], dict[str, Any]]:
    """The placed instances, and the cost: how many `tensors` the instances have and how many `numbers` these have, `place_s` by
    the clock, `place_busy_s`, which is the processor time of the process if that is less, and `copy_s`, the seconds in which
    the harness copies the same tensors."""
    start = _now()
    copies = [np.array(tensor) for tensor in tensors(list(instances))]
    copy_s = _since(start)[0]
    cost = {"tensors": len(copies), "numbers": sum(each.size for each in copies), "copy_s": copy_s}
    if not copies:
        return list(instances), {"place_s": 0.0, "place_busy_s": 0.0, **cost}
    start = _now()
    placed = compiled.place(instances)
    place_s, cpu_s = _since(start)
    return placed, {"place_s": place_s, "place_busy_s": min(place_s, cpu_s), **cost}


def duration(work: Callable[[], Any]) -> float:
    """The seconds that `work` takes: by the clock, or the processor time of the process if that is less."""
    start = _now()
    work()
    return min(_since(start))


def allowed_s(cost: Mapping[str, Any], first: bool = True) -> float:
    """The seconds that placing may take. `cost`: what `place` returned; `first`: for the first time in the process."""
    fixed_s = FIXED_S if first else 0.0
    return float(TIMES * cost["copy_s"] + NUMBER_S * cost["numbers"] + TENSOR_S * cost["tensors"] + fixed_s)


def judge(cost: Mapping[str, Any]) -> list[str]:
    """A flag if placing took too long. `cost`: what `place` returned."""
    place_s, copy_s = cost["place_busy_s"], cost["copy_s"]
    if place_s <= allowed_s(cost):
        return []
    return [f"place() took {place_s:.3g} s where a copy takes {copy_s:.3g} s"]


def tensors(value: Any) -> Iterator[np.ndarray]:
    """Every array and tensor in nested lists, tuples, mappings and dataclasses."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, np.ndarray):
            yield item
        elif hasattr(item, "detach"):  # a torch tensor, which this package does not import
            yield item.detach().cpu().numpy()
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif dataclasses.is_dataclass(item):
            waiting.extend(getattr(item, field.name) for field in dataclasses.fields(item))


def _now() -> tuple[int, int]:
    return perf_counter_ns(), process_time_ns()


def _since(start: tuple[int, int]) -> tuple[float, float]:
    wall, cpu = _now()
    return (wall - start[0]) / 1e9, (cpu - start[1]) / 1e9
