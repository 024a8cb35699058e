"""Detects work that a system put off until its outputs were fetched, so that the clock did not measure it.

A fetch may cost a fifth of the run and what an honest conversion costs: a nanosecond for each byte, and five times what this
process needs to make the same outputs anew from Python numbers, the slowest way that a known interface uses. After the first
run of a turn, when caches are cold, it may cost more. Costs are processor time (bench/clock.py), because on a busy machine
other processes run in between. Work was put off in each of these cases:
- More than a quarter of the fetches cost more than they may.
- More than half do of those of one mini-batch, or of those after the first runs of turns: these alone decide the latency of the
  mini-batch, and the latency after a pause.
- What they cost too much is together more than a twentieth of the time of the runs, the dearest left out.
- In more than half of the pairs of fetches the first cost too much more than the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
OFTEN, OFTEN_ALONE, OFTEN_LATE = 0.25, 0.5, 0.5
LEAST = 4  # fewer fetches of one mini-batch, or after first runs, are not judged by themselves
COLD = 4.0  # the fetch after the first run of a turn may cost so many times as much, apart from the share of the run
LATE = 0.05  # the share of the time of all runs that the sum of what fetches cost too much may have, and in addition:
LATE_NS = 5_000_000  # a few interruptions, which could be as long as many short runs
SPARED, LEAST_SPARED = 0.1, 2  # the dearest fetches, which do not count in the sum: this part of them, and at least so many


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

    def beyond_ns(f: Fetch) -> float:
        return f.cost_ns - SHARE * f.run_ns - allowances[f.minibatch] * (COLD if f.resumed else 1.0)

    for which, own, often in _parts(fetches):
        over = [f.cost_ns for f in own if beyond_ns(f) > 0]
        if len(over) > often * len(own):
            typical = f"{median(over) / 1e6:.3g} ms of work in fetch"
            return f"outputs were not complete when run() returned: {typical}, in {len(over)} of {len(own)} {which}"
    excess = sorted(max(0.0, beyond_ns(f)) for f in fetches)
    late_ns = sum(excess[: -max(LEAST_SPARED, int(SPARED * len(excess)))])
    run_ns = sum(f.run_ns for f in fetches)
    if late_ns > LATE * run_ns + LATE_NS:
        both = f"{late_ns / 1e6:.3g} ms of work in fetch, all samples together, and {run_ns / 1e6:.3g} ms in run"
        return f"outputs were not complete when run() returned: {both}"
    # The second fetch finds the outputs in nearer caches, which saves less time than it takes to make them anew.
    pairs = []
    for f in fetches:
        if f.late_ns is not None:
            pairs.append((f.late_ns, allowances[f.minibatch] / CONVERSIONS + FIXED_NS + SHARE * f.run_ns))
    late = sum(late > limit for late, limit in pairs)
    if late > OFTEN_LATE * len(pairs):
        return f"outputs were not complete when run() returned: a first fetch did work in {late} of {len(pairs)} samples"
    return None


def _parts(fetches: Sequence[Fetch]) -> Iterator[tuple[str, Sequence[Fetch], float]]:
    """The fetches that are judged together, with what they are called, and the share of them that may cost too much."""
    yield "samples", fetches, OFTEN
    minibatches = sorted({f.minibatch for f in fetches})
    apart = {f"samples of mini-batch {i}": [f for f in fetches if f.minibatch == i] for i in minibatches}
    for which, own in (apart | {"first runs of turns": [f for f in fetches if f.resumed]}).items():
        if len(own) >= LEAST:
            yield which, own, OFTEN_ALONE
