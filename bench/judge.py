"""Detects work that a system put off until its outputs were fetched, so that the clock did not measure it.

A fetch may cost a fifth of the run and what an honest conversion costs: a nanosecond for each byte, and five times what this
process needs to make the same outputs anew from Python numbers, the slowest way that a known interface uses. Costs are
processor time (bench/clock.py), because on a busy machine other processes run in between. Work was put off if more than a
quarter of the fetches cost more, or if in more than half of the pairs of fetches the first cost too much more than the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from time import process_time_ns
from typing import Any

import numpy as np

from bench.clock import Fetch
from bench.outputs import flatten

SHARE = 0.2
FIXED_NS = 60_000  # a fetch of empty outputs, on cold caches
NS_PER_BYTE = 1.0
CONVERSIONS = 5.0
REPEATS = 5
OFTEN, OFTEN_LATE = 0.25, 0.5


def allowance_ns(outputs: Any) -> float:
    """The nanoseconds that fetching `outputs`, nested lists and tuples of arrays, may cost apart from a share of the run."""
    costs = []
    size = 0
    for _ in range(REPEATS):
        start = process_time_ns()
        size = flatten(_anew(outputs)).floats.size
        costs.append(process_time_ns() - start)
    return FIXED_NS + NS_PER_BYTE * 4 * size + CONVERSIONS * median(costs)


def _anew(outputs: Any) -> Any:
    if isinstance(outputs, list):
        return [_anew(each) for each in outputs]
    if isinstance(outputs, tuple):
        return tuple(_anew(each) for each in outputs)
    array = np.asarray(outputs)
    return np.array(array.tolist(), np.float32 if array.dtype.kind == "f" else array.dtype)


def work_in_fetch(fetches: Sequence[Fetch], allowances: Mapping[int, float]) -> str | None:
    """Why outputs cannot have been complete when `run` returned, or None. `allowances`: `allowance_ns` of each mini-batch."""
    over = [f.cost_ns for f in fetches if f.cost_ns > allowances[f.minibatch] + SHARE * f.run_ns]
    if len(over) > OFTEN * len(fetches):
        typical = f"{median(over) / 1e6:.3g} ms of work in fetch"
        return f"outputs were not complete when run() returned: {typical}, in {len(over)} of {len(fetches)} samples"
    # The second fetch finds the outputs in nearer caches, which saves less time than it takes to make them anew.
    pairs = []
    for f in fetches:
        if f.late_ns is not None:
            pairs.append((f.late_ns, allowances[f.minibatch] / CONVERSIONS + FIXED_NS + SHARE * f.run_ns))
    late = sum(late > limit for late, limit in pairs)
    if late > OFTEN_LATE * len(pairs):
        return f"outputs were not complete when run() returned: a first fetch did work in {late} of {len(pairs)} samples"
    return None
