"""The timed call. What is between the two clock readings is the backend's `run` and nothing else.

Outputs are fetched into fresh arrays right after the clock stops, so what is verified is what was complete by then: an
answer that arrives later is not in it. The fetch is itself clocked, and repeated on some samples, because work can be put off
until somebody looks (lazy evaluation, a device that was not waited for): judge.py says how that shows.

The clocks are taken when this module is imported, before any backend is: what a backend puts in their place later is not read.
Whether they tell the time is asked by the process that started this one, by a clock of its own (elapsed.py).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from resource import RUSAGE_THREAD, getrusage
from time import perf_counter_ns, process_time_ns
from typing import Any, NamedTuple

import numpy as np

from bench.contract import Compiled, Instance, Outputs
from bench.verify import Flat, flatten


class Fetch(NamedTuple):
    """What bringing the outputs of a run out has cost, conversion to fresh arrays by the harness included, in nanoseconds."""

    minibatch: int
    run_ns: int
    cost_ns: int
    late_ns: int | None  # by how much a second fetch was cheaper; None where fetched once


@dataclass(slots=True)
class Sample:
    minibatch: int
    run_ns: int
    fetched: Fetch
    outputs: Flat
    counters: Mapping[str, Any]


NOTHING = Flat((), np.empty(0, np.float32), np.empty(0, np.int64))


def sample(
    compiled: Compiled,
    minibatch: Sequence[Instance],
    index: int,
    fetches: int = 1,
    now: Callable[[], int] = perf_counter_ns,
) -> Sample:
    """One call, clocked. The list is new each time, so nothing can be remembered by its identity. `fetches`: how often the
    outputs are fetched, 0, 1 or 2; without a fetch the sample has neither outputs nor counters."""
    batch = list(minibatch)
    start = now()
    outputs = compiled.run(batch)
    stop = now()
    if not fetches:
        return Sample(index, stop - start, Fetch(index, stop - start, 0, None), NOTHING, {})
    flat, cost = _fetch(compiled, outputs)
    late = cost - _fetch(compiled, outputs)[1] if fetches == 2 else None
    return Sample(index, stop - start, Fetch(index, stop - start, cost, late), flat, dict(compiled.counters()))


class Both(NamedTuple):
    """Of one call, the wall time and the processor time of the process, in nanoseconds, and the outputs of each instance."""

    wall_ns: int
    cpu_ns: int
    outputs: list[Flat]


def both(
    compiled: Compiled,
    minibatch: Sequence[Instance],
    now: Callable[[], int] = perf_counter_ns,
    busy: Callable[[], int] = process_time_ns,
) -> Both:
    batch = list(minibatch)
    cpu, wall = busy(), now()
    outputs = compiled.run(batch)
    wall, cpu = now() - wall, busy() - cpu
    return Both(wall, cpu, [flatten([output]) for output in compiled.fetch(outputs)])


def _fetch(
    compiled: Compiled,
    outputs: Outputs,
    now: Callable[[], int] = perf_counter_ns,
    busy: Callable[[], int] = process_time_ns,
) -> tuple[Flat, int]:
    """The outputs, and what it has cost: the processor time of the process, in which the turns of other processes are not,
    or the wall time if that is less. If the thread has gone to sleep meanwhile, it waited for something: then wall time."""
    sleeps = _sleeps()
    cpu, wall = busy(), now()
    flat = flatten(compiled.fetch(outputs))
    wall, cpu = now() - wall, busy() - cpu
    return flat, wall if _sleeps() > sleeps else min(wall, cpu)


def _sleeps() -> int:
    return getrusage(RUSAGE_THREAD).ru_nvcsw


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
