"""Where the time went, from the counters of the timed runs: the categories every backend is asked for, and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PHASES = ("ingest", "construct", "schedule", "copy", "kernel", "fetch")


def of_turn(counters: Sequence[Mapping[str, Any]], minibatches: Sequence[int]) -> dict[str, Any]:
    """Counters of the runs of a turn as one. Times are made as latencies are, the median of each mini-batch averaged over the
    mini-batches, so that they can be taken off the latency; of other numbers the median, of anything else the last."""
    merged = merge(counters)
    apart = [merge([c for c, m in zip(counters, minibatches, strict=True) if m == each]) for each in dict.fromkeys(minibatches)]
    for key in merged:
        values = [each[key] for each in apart if key in each]
        if key.endswith("_ms") and all(isinstance(value, int | float) for value in values):
            merged[key] = round(float(np.mean(values)), 6)
    return merged


def merge(counters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counters of many runs as one: the median of numbers, the last of anything else."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for each in counters for key in each):
        values = [each[key] for each in counters if key in each]
        numeric = all(isinstance(value, int | float | np.number) for value in values)
        merged[key] = round(float(np.median(values)), 6) if numeric else plain(values[-1])
    return merged


def split(counters: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The milliseconds per phase, and the other counters."""
    times = {phase: counters[f"{phase}_ms"] for phase in PHASES if f"{phase}_ms" in counters}
    rest = {key: value for key, value in counters.items() if key.removesuffix("_ms") not in times}
    return times, rest


def plain(value: Any) -> Any:
    """As JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(element) for element in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
