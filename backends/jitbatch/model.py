"""A model behind the harness's contract: it records, analyses and computes mini-batches."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from sys import getrefcount
from time import perf_counter_ns
from typing import Any

import greenlet
import numpy as np
import torch
from torch import Tensor, nn

from backends.jitbatch import instances
from backends.jitbatch.execute import Pools, Ready, execute
from backends.jitbatch.kinds import Kinds
from backends.jitbatch.lazy import Lazy, Recording, Shared, Sort
from backends.jitbatch.meter import Meter
from backends.jitbatch.plan import analyse
from backends.jitbatch.recorder import Recorder
from backends.jitbatch.subtrees import Structures
from backends.pytorch.model import OnDevice
from backends.pytorch.precision import Precision, fact
from bench.contract import Instance, Outputs

CACHED_RESULTS = 4_000_000
"""The most results that all kept plans may have together; beyond that the least recently used plans are dropped. A result takes
some 20 bytes."""
UNREFERENCED = next(map(getrefcount, [object()]))
"""What `map(getrefcount, ...)` gives for an object to which only the list refers."""


class Plans:
    """The cache of plans. The key is all that a plan depends on: the number of the plan that ran before it in the same
    mini-batch, the recorded code, and which of the code's results are still referred to. Without `keep` nothing is kept."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.cached: OrderedDict[tuple[int, bytes, bytes], Ready] = OrderedDict()
        self.results = 0
        self.made = 0

    def get(self, key: tuple[int, bytes, bytes]) -> Ready | None:
        ready = self.cached.get(key)
        if ready is not None:
            self.cached.move_to_end(key)
        return ready

    def put(self, key: tuple[int, bytes, bytes], ready: Ready) -> None:
        if not self.keep:
            return
        self.cached[key] = ready
        self.results += len(ready.plan.rows)
        while self.results > CACHED_RESULTS and len(self.cached) > 1:
            _, dropped = self.cached.popitem(last=False)
            self.results -= len(dropped.plan.rows)


class Run:
    """One mini-batch while it runs: the results computed so far (`rows`: the row of each in its pool), and counters."""

    def __init__(self, recorder: Recorder, plans: Plans, pools: Pools) -> None:
        self.recorder = recorder
        self.plans = plans
        self.pools = pools
        self.meter = Meter()
        self.rows = np.empty(0, np.int64)
        self.tops: Mapping[Sort, int] = {}
        self.last = 0  # the number of the plan that ran last; 0: none
        self.schedule_ns = self.fetch_ns = 0
        self.analysis_ns = 0  # the part of schedule_ns that a kept plan saves
        self.hits = self.misses = self.recorded = self.flushes = 0

    def flush(self) -> None:
        """Compute all recorded calls, by a plan from the cache or a new one."""
        recorder = self.recorder
        if not recorder.code:
            return
        start = perf_counter_ns()
        alive = np.fromiter(map(getrefcount, recorder.results), np.int64, len(recorder.results)) > UNREFERENCED
        key = (self.last, array("i", recorder.code).tobytes(), alive.tobytes())
        ready = self.plans.get(key)
        if ready is None:
            self.misses += 1
            begun = perf_counter_ns()
            self.plans.made += 1
            kinds = recorder.kinds
            plan = analyse(self.plans.made, recorder.code, recorder.base, kinds.all, self.rows, self.tops, alive)
            ready = Ready(plan, 1, kinds.device)
            self.analysis_ns += perf_counter_ns() - begun
            self.plans.put(key, ready)
        else:
            self.hits += 1
        ints = torch.tensor(recorder.ints, device=recorder.device) if recorder.ints else None
        self.pools.reserve(ready.tops, self.tops)
        self.schedule_ns += perf_counter_ns() - start
        execute(ready, self.pools, ints, recorder.inputs, self.meter)
        self.rows = np.concatenate((self.rows, ready.plan.rows))
        self.tops = ready.tops
        self.last = ready.plan.number
        self.recorded += ready.plan.calls
        self.flushes += 1
        recorder.begin()

    def values(self, lazies: Sequence[Lazy]) -> list[Tensor]:
        """New tensors with the values of results that have been computed, read with one gather for each sort."""
        by_sort: dict[Sort, list[int]] = {}
        for i, lazy in enumerate(lazies):
            by_sort.setdefault(lazy.sort, []).append(i)
        values: list[Any] = [None] * len(lazies)
        for sort, indices in by_sort.items():
            rows = torch.from_numpy(self.rows[[lazies[i].index for i in indices]]).to(self.pools.device)
            for i, value in zip(indices, self.pools.tensors[sort].index_select(0, rows).unbind(), strict=True):
                values[i] = value
        return values


class Model(OnDevice):
    """A compiled model. `module` was changed by `prepare`. `refused`: the methods that could not be deferred as one call, with
    the reason. `structures`: the numbers of a mini-batch's structures, if calls on them are deferred (`subtree`)."""

    def __init__(
        self,
        module: nn.Module,
        kinds: Kinds,
        cache: bool,
        refused: dict[str, str],
        structures: Structures | None = None,
        precision: Precision = "fp32",
    ) -> None:
        super().__init__(str(kinds.device))
        self.module = module
        self.kinds = kinds
        self.plans = Plans(cache)
        self.pools = Pools(kinds.device)
        self.constants: dict[Any, Any] = {}
        self.structures = structures
        self.refused = refused
        self.precision = precision
        self.run_ns = 0
        self.ran: Run | None = None

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        start = perf_counter_ns()
        hub = greenlet.getcurrent()
        waiting: list[tuple[greenlet.greenlet, Lazy]] = []
        outputs: list[Any] = [None] * len(minibatch)

        def wait(lazy: Lazy) -> Tensor:
            if lazy.index < recorder.base:
                return self.read(run, [lazy])[0]
            waiting.append((greenlet.getcurrent(), lazy))
            value: Tensor = hub.switch()
            return value

        recorder = Recorder(self.kinds, wait)
        recorder.constants = self.constants
        run = Run(recorder, self.plans, self.pools)
        self.kinds.meter = run.meter
        before, Recording.recorder = Recording.recorder, recorder
        try:

            def go(number: int, instance: Instance) -> None:
                outputs[number] = self.module(instances.deferred(instance, recorder.input))

            if self.structures is not None:
                begun = perf_counter_ns()
                self.structures.begin(minibatch)
                run.schedule_ns += perf_counter_ns() - begun
            for number, instance in enumerate(minibatch):
                greenlet.greenlet(go).switch(number, instance)
            while waiting:
                ready, waiting[:] = list(waiting), []
                run.flush()
                values = self.read(run, [lazy for _, lazy in ready])
                for (instance_of, _), value in zip(ready, values, strict=True):
                    instance_of.switch(value)
            run.flush()
            outputs = self.results(run, outputs)
        finally:
            Recording.recorder = before
            if self.structures is not None:
                self.structures.end()
        begun = perf_counter_ns()
        self.synchronize()
        run.meter.kernel_ns += perf_counter_ns() - begun
        self.ran = run
        self.run_ns = perf_counter_ns() - start
        return outputs

    def read(self, run: Run, lazies: Sequence[Lazy]) -> list[Tensor]:
        """The values of results on the host, where instances wait for them."""
        start = perf_counter_ns()
        values = run.values(lazies)
        if self.device != "cpu":
            by_sort: dict[Sort, list[int]] = {}
            for i, lazy in enumerate(lazies):
                by_sort.setdefault(lazy.sort, []).append(i)
            for indices in by_sort.values():
                for i, value in zip(indices, torch.stack([values[p] for p in indices]).cpu().unbind(), strict=True):
                    values[i] = value
        run.fetch_ns += perf_counter_ns() - start
        return values

    def results(self, run: Run, outputs: list[Any]) -> list[Any]:
        start = perf_counter_ns()
        lazies: list[Any] = []
        instances.collect_lazy_tensors(outputs, lazies)
        own = [lazy for lazy in lazies if type(lazy) is Lazy]
        values = {id(lazy): value for lazy, value in zip(own, run.values(own), strict=True)}
        values_of_outputs: list[Any] = instances.concrete(
            outputs, lambda lazy: lazy.tensor.clone() if type(lazy) is Shared else values[id(lazy)]
        )
        run.fetch_ns += perf_counter_ns() - start
        return values_of_outputs

    def counters(self) -> Mapping[str, Any]:
        run = self.ran
        if run is None:
            return {}
        meter = run.meter
        computing = meter.copy_ns + meter.kernel_ns
        # On CUDA these times are those of launches and of the wait at the end, so copies and kernels cannot be told apart.
        apart = {"copy_ms": meter.copy_ns / 1e6, "kernel_ms": meter.kernel_ns / 1e6}
        return {
            **(apart if self.device == "cpu" else {"kernel_ms": computing / 1e6}),
            "construct_ms": (self.run_ns - run.schedule_ns - computing - run.fetch_ns) / 1e6,
            "schedule_ms": run.schedule_ns / 1e6,
            "fetch_ms": run.fetch_ns / 1e6,
            "recorded": run.recorded,
            "nodes": meter.nodes,
            "batches": meter.batches,
            "launches": meter.launches,
            "mean_batch_width": meter.nodes / meter.batches if meter.batches else 0.0,
            "gathered_bytes": meter.gathered_bytes,
            "analysis_ms": run.analysis_ns / 1e6,
            "analyses": run.misses,
            "cache_hits": run.hits,
            "flushes": run.flushes,
            "unbatched": {**meter.unbatched, **self.refused},
        }

    def facts(self) -> Mapping[str, Any]:
        from backends.pytorch.libraries import what_computes

        known = {"threads": torch.get_num_threads(), "load_time": "", **fact(self.precision)}
        return known | what_computes(self.device)

    def close(self) -> None:
        self.plans = Plans(False)
        self.pools = Pools(self.kinds.device)
        super().close()
