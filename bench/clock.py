"""The timed call. What is between the two clock readings is the backend's `run` and nothing else.

Outputs are fetched into fresh arrays right after the clock stops, so what is verified is what was complete by then: an
answer that arrives later is not in it. The fetch is itself clocked, and repeated on some samples: work that was put
off until somebody looks (lazy evaluation, a device that was not waited for) shows as a first fetch much longer than a second.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from bench.contract import Compiled, Instance
from bench.verify import Flat, flatten

# A first fetch that costs more than the second by this share of the run, and by this much, did some of the run's work.
LATE_SHARE = 0.2
LATE_NS = 300_000


@dataclass(slots=True)
class Sample:
    minibatch: int
    run_ns: int
    late_ns: int | None  # first fetch less the second; None where fetched once
    outputs: Flat
    counters: Mapping[str, Any]


def sample(compiled: Compiled, minibatch: Sequence[Instance], index: int, twice: bool = False) -> Sample:
    """One call, clocked. The list is new each time, so nothing can be remembered by its identity."""
    batch = list(minibatch)
    start = perf_counter_ns()
    outputs = compiled.run(batch)
    stop = perf_counter_ns()
    fetched = flatten(compiled.fetch(outputs))
    first = perf_counter_ns()
    late = None
    if twice:
        flatten(compiled.fetch(outputs))
        late = (first - stop) - (perf_counter_ns() - first)
    return Sample(index, stop - start, late, fetched, dict(compiled.counters()))


def complete(samples: Sequence[Sample]) -> bool:
    """Were outputs complete when `run` returned? Work put off shows in every sample, another process's turn only in some:
    so it must show in three quarters of them."""
    over = [s.late_ns - max(LATE_NS, LATE_SHARE * s.run_ns) for s in samples if s.late_ns is not None]
    return not over or bool(np.quantile(over, 0.25, method="lower") <= 0)


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage collection while timing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def poison(outputs: Flat, instances: int) -> None:
    """Fill memory that the allocator is about to hand out with NaN, so that outputs nobody wrote cannot look right
    because the same answer lay there before. Both for one array per instance and for one of the whole mini-batch."""
    if outputs.floats.size:
        share = max(outputs.floats.size // instances, 1)
        scraps = [np.full(share, np.nan, np.float32) for _ in range(instances)]
        scraps.append(np.full(outputs.floats.size, np.nan, np.float32))
