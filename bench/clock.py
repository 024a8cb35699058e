"""The timed call: between the two readings of the clock there is one call of the backend's `run` and nothing else.

Outputs are copied into new arrays right after the clock stops, so an answer that the system completes later is not verified.
This fetch is timed too, and repeated for some samples, because a system can put work off until somebody reads the outputs (lazy
evaluation, a device that was not waited for): bench/judge.py detects that.

The clock functions are bound when this module is imported, before any backend, so a backend that replaces them later has no
effect. The parent process checks with a clock of its own whether they tell the true time (bench/elapsed.py).
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
from bench.outputs import Flat, flatten


class Fetch(NamedTuple):
    """The cost of fetching the outputs of one run, the harness's conversion to new arrays included, in nanoseconds."""

    minibatch: int
    run_ns: int
    cost_ns: int
    late_ns: int | None  # how much cheaper a second fetch was; None where the outputs were fetched once
    resumed: bool = False  # whether the run was the first one of a turn, after a pause


@dataclass(slots=True)
class Sample:
    """One timed run: the number of its mini-batch, its time in nanoseconds, and what was fetched after it."""

    minibatch: int
    run_ns: int
    fetched: Fetch
    outputs: Flat
    counters: Mapping[str, Any]


NOTHING = Flat((), np.empty(0, np.float32), np.empty(0, np.int64))


def sample(
    compiled: Compiled, minibatch: Sequence[Instance], index: int, fetches: int = 1, now: Callable[[], int] = perf_counter_ns
) -> Sample:
    """Time one call of `run` on mini-batch number `index`, with a new list, so that a system cannot recognise it by identity.
    `fetches`: how often the outputs are fetched, 0, 1 or 2; for 0 the sample has neither outputs nor counters."""
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
    """The wall time of one call and the processor time of the process in it, in nanoseconds, and the outputs per instance."""

    wall_ns: int
    cpu_ns: int
    outputs: list[Flat]


def both(
    compiled: Compiled,
    minibatch: Sequence[Instance],
    now: Callable[[], int] = perf_counter_ns,
    busy: Callable[[], int] = process_time_ns,
) -> Both:
    """One run with its wall time and its processor time, and its outputs, each flattened alone."""
    batch = list(minibatch)
    cpu, wall = busy(), now()
    outputs = compiled.run(batch)
    wall, cpu = now() - wall, busy() - cpu
    return Both(wall, cpu, [flatten([output]) for output in compiled.fetch(outputs)])


def _fetch(compiled: Compiled, outputs: Outputs) -> tuple[Flat, int]:
    """The outputs, and the nanoseconds that fetching them cost: the processor time of the process, which leaves out the time of
    others, or the wall time if that is less, or if the thread slept meanwhile, because then it waited for something."""
    sleeps = _sleeps()
    cpu, wall = process_time_ns(), perf_counter_ns()
    flat = flatten(compiled.fetch(outputs))
    wall, cpu = perf_counter_ns() - wall, process_time_ns() - cpu
    return flat, wall if _sleeps() > sleeps else min(wall, cpu)


def _sleeps() -> int:
    return getrusage(RUSAGE_THREAD).ru_nvcsw


@contextmanager
def quiet() -> Iterator[None]:
    """A context without garbage collection, for timing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def poison(outputs: Flat, instances: int) -> None:
    """Fill memory that the allocator will hand out next with NaN, so that outputs which the system never writes cannot look
    right because an earlier answer lay there. The arrays have the sizes of one instance's and of the mini-batch's outputs."""
    if outputs.floats.size:
        share = max(outputs.floats.size // instances, 1)
        scraps = [np.full(share, np.nan, np.float32) for _ in range(instances)]
        scraps.append(np.full(outputs.floats.size, np.nan, np.float32))
