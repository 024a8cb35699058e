"""Where the time of the timed runs went, by the backend's own counters: milliseconds for each of `PHASES`, and other counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PHASES = ("ingest", "construct", "schedule", "copy", "kernel", "fetch")
NUMBERS = frozenset(
    {*(f"{phase}_ms" for phase in PHASES), "nodes", "batches", "launches", "mean_batch_width", "gathered_bytes"}
)
"""The counters of the contract that are numbers; a backend may have others, of any kind."""
LARGEST_NUMBER = 1 << 63  # those beyond fit no integers of numpy's, and far beyond no float
LARGEST = 1 << 18  # bytes of what a backend says of itself; more is not kept in a row
MAPPINGS = frozenset({"unbatched"})  # the counters of the contract that are texts by name


def over_minibatches(counters: Sequence[tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    """Counters of many runs, each with the number of its mini-batch, as one. Times are combined in the way latencies are, as
    the mean over the mini-batches of each one's median, so that they can be subtracted from the latency; of other numbers the
    median is taken, of anything else the last."""
    merged = merge([each for _, each in counters])
    apart = [merge([c for m, c in counters if m == minibatch]) for minibatch in dict.fromkeys(m for m, _ in counters)]
    for key in merged:
        values = [each[key] for each in apart if key in each]
        if key.endswith("_ms") and all(isinstance(value, int | float) for value in values):
            merged[key] = round(float(np.mean(values)), 6)
    return merged


def merge(counters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the counters of several runs: the median of numbers, the last value of anything else. A counter is None if it was
    unusable in one of the runs: no finite number or no mapping where the contract asks for one, or a value that JSON cannot
    hold."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for each in counters for key in each):
        values = [plain(each[key]) for each in counters if key in each]
        if any(value is None for value in values):
            merged[str(key)] = None
        elif all(isinstance(value, int | float) for value in values):
            merged[str(key)] = round(float(np.median(values)), 6)
        else:
            merged[str(key)] = None if key in NUMBERS else values[-1]
        if key in MAPPINGS and not isinstance(merged[str(key)], Mapping):
            merged[str(key)] = None
    return merged


def too_large(value: Any) -> bool:
    """Whether a value of plain types would take too much room in a row."""
    return len(json.dumps(value)) > LARGEST


def limited(counters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The counters without those beyond the contract's where all together are too large for a row, and a flag that says so."""
    if not too_large(counters):
        return dict(counters), []
    kept = {key: value for key, value in counters.items() if key in NUMBERS}
    return kept, [f"counters of more than {LARGEST >> 10} KiB: only those that are numbers of the contract are kept"]


def split(counters: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The milliseconds of each phase that the backend reports, and all other counters."""
    times = {phase: counters[f"{phase}_ms"] for phase in PHASES if counters.get(f"{phase}_ms") is not None}
    names = {f"{phase}_ms" for phase in PHASES}
    return times, {key: value for key, value in counters.items() if key not in names}


def flags(counters: Mapping[str, Any]) -> list[str]:
    """Flags for the row that name the unusable ones of the merged counters; none if all are usable."""
    unusable = [key for key, value in counters.items() if value is None]
    kinds = {"finite numbers": [k for k in unusable if k not in MAPPINGS], "mappings": [k for k in unusable if k in MAPPINGS]}
    return [f"counters that are no {kind}: {', '.join(names)}" for kind, names in kinds.items() if names]


def is_usable(number: float) -> bool:
    """Whether a number of a backend's is finite, and not too large for any use."""
    return -LARGEST_NUMBER < number < LARGEST_NUMBER


def plain(value: Any) -> Any:
    """The value in types that JSON can hold. What JSON cannot hold becomes None, also a number that is not usable."""
    if isinstance(value, Mapping):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(element) for element in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float) and not is_usable(value):
        return None
    return value if isinstance(value, bool | int | float | str) else None
