"""The child process of a cell: it does what the parent asks, one request and one reply at a time, and sleeps in between.

Requests and replies are JSON lines on two separate pipes; standard output and error go to the cell's log, so that nothing that
a backend prints is taken for a reply.
"""

from __future__ import annotations

import contextlib
import cProfile
import gc
import importlib
import itertools
import json
import os
import pstats
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from time import CLOCK_MONOTONIC_RAW, clock_gettime
from typing import Any

from bench import answers, breakdown, clock, facts, placing
from bench.contract import Backend, Compiled, Target, Unsupported, Workload
from bench.family import adopt_orphans, die_with
from bench.handover import Writer
from bench.instructions import instruction_sets, observe
from bench.log import one_line
from bench.outcome import Unavailable, ensure_available, ensure_variants, explain, optional_modules, outcome
from bench.outputs import Flat, Wrong, fingerprint
from bench.targets import resolve

Reply = dict[str, Any]


class Session:
    """One cell, from import to the last turn. Each public method answers the request of its name."""

    def __init__(self, writer: Writer) -> None:
        self.opened = False
        self.writer = writer
        self.checked: dict[int, clock.Sample] = {}
        self.fetches: list[clock.Fetch] = []

    def load(self, cell: Mapping[str, Any]) -> Reply:
        """Import and construct the backend and the workload, and call their `load` methods, which import what is used later."""
        start = _now()
        self.cell = cell
        self.backend = self._backend(cell)
        ensure_variants(self.backend, lambda options: self._backend(cell, options))
        ensure_available(self.backend)
        self.workload = _workload(cell["workload"])
        with optional_modules(self.backend):
            for part in (self.workload, self.backend):
                if hasattr(part, "load"):
                    part.load()
        emulated = hasattr(self.backend, "emulated") and bool(self.backend.emulated())
        return {"load_s": _now() - start, "emulated": emulated}

    def open(self) -> Reply:
        """Compile the model, place the instances and run the first mini-batch, each timed."""
        cell, backend, workload = self.cell, self.backend, self.workload
        batch_size, count = cell["batch_size"], cell["minibatches"]
        self.device = cell["device"]
        instances = workload.instances(cell["size"], cell["seed"], batch_size * count)
        draw_s = placing.duration(lambda: workload.instances(cell["size"], cell["seed"], batch_size))
        start = _now()
        with optional_modules(backend):
            self.compiled: Compiled = backend.compile(workload, cell["size"], cell["seed"], batch_size)
        compile_s = _now() - start
        placed, placing_cost = placing.place(self.compiled, instances)
        self.minibatches = [placed[i * batch_size : (i + 1) * batch_size] for i in range(count)]
        self.fingerprint = fingerprint(self.minibatches)
        first = self._checked_run(0)
        self.opened = True
        identity = str(self.compiled.identity()) if hasattr(self.compiled, "identity") else None
        timed = {"draw_s": draw_s, "compile_s": compile_s, "first_s": first.run_ns / 1e9}
        return {**timed, "identity": identity, **placing_cost}

    def probe(self) -> Reply:
        """The time of a second run, on other instances, which is not cold any more."""
        return {"run_s": self._checked_run(1 % len(self.minibatches)).run_ns / 1e9}

    def check(self, minibatches: int) -> Reply:
        """Run each of the first `minibatches` mini-batches once. `outputs` describes their outputs, `pass_s` is their time."""
        for i in range(minibatches):
            if i not in self.checked:
                self._checked_run(i)
        self._inputs_unchanged()
        outputs = self.writer.write([(i, self.checked[i].outputs) for i in range(minibatches)])
        times = [self.checked[i].run_ns / 1e9 for i in range(minibatches)]
        self.checked.clear()
        gc.collect()
        gc.freeze()  # collections between turns need not look at the objects that exist by now
        return {"pass_s": sum(times), "outputs": outputs}

    def observe(self) -> Reply:
        """Run the mini-batches in turn, for up to two seconds, and observe which instructions they execute. `seen`: how often
        each instruction set was seen; None where too little was, or where it cannot be observed."""
        following = itertools.cycle(self.minibatches)
        counts = observe(lambda: self.compiled.run(list(next(following))))
        return {"seen": counts if instruction_sets(counts) else None}

    def turn(self, order: list[int], first: int, steady: int, timed: int) -> Reply:
        """One turn over the mini-batches in this order: the first `first` of them once, after the pause that this process has
        had (the resumed pass, number 0), then all of them `steady` times back to back (passes 1, 2, ...). The resumed pass and
        the last `timed` steady ones are samples, whose outputs are handed over after the turn. Between two runs outputs are
        copied and nothing else is done, so that the caches are as a loop over mini-batches leaves them.

        `samples_s` and `sample_pass` have the samples in the order in which they were taken, `settled_s` the seconds of
        the steady runs before the timed ones, `counters` the backend's counters of the runs that count as steady."""
        samples: list[clock.Sample] = []
        passes: list[int] = []
        settled_s = 0.0
        with clock.quiet():
            for number in range(steady + 1):
                sampled = number == 0 or number > steady - timed
                for i in order if number else order[:first]:
                    sample = self._run(i, fetches=2 if number == steady and i == order[-1] else 1)
                    if sampled:
                        samples.append(sample)
                        passes.append(number)
                    else:
                        settled_s += sample.run_ns / 1e9
        resumed, *others = [s.fetched for s in samples]
        self.fetches += [resumed._replace(resumed=steady > 0), *others]
        counted = [s for s, number in zip(samples, passes, strict=True) if number or not steady]
        reply = {
            "samples_s": [s.run_ns / 1e9 for s in samples],
            "sample_pass": passes,
            "settled_s": settled_s,
            "counters": [breakdown.merge([s.counters for s in counted if s.minibatch == i]) for i in dict.fromkeys(order)],
        }
        reply["outputs"] = self.writer.write([(s.minibatch, s.outputs) for s in samples])
        samples.clear()
        gc.collect()  # here, so that the next turn does not begin with a collection
        return reply

    def draw(self, seed: int, count: int) -> Reply:
        """Make and place `count` mini-batches that the system has never seen, drawn from `seed`; returns what placing cost."""
        size = len(self.minibatches[0])
        instances = _unseen(self.workload)(self.cell["size"], seed, size * count)
        placed, cost = placing.place(self.compiled, instances)
        self.unseen = [placed[i * size : (i + 1) * size] for i in range(count)]
        self.given: list[Flat] = []
        return cost

    def replay(self, minibatches: int, unseen: bool) -> Reply:
        """Run each of the first `minibatches` mini-batches, or of the unseen ones, once, and fetch the outputs. `times`: for
        each run its wall time and the processor time of this process, in nanoseconds."""
        with clock.quiet():
            runs = [clock.both(self.compiled, each) for each in (self.unseen if unseen else self.minibatches)[:minibatches]]
        if unseen and not self.given:
            self.given = [flat for run in runs for flat in run.outputs]
        return {"times": [[run.wall_ns, run.cpu_ns] for run in runs]}

    def show(self, instances: list[int]) -> Reply:
        """The outputs of the first pass over the unseen mini-batches for the instances with these numbers. In this order, each
        is handed over like the outputs of a mini-batch of one instance; its number is its place in the order."""
        return {"outputs": self.writer.write([(number, self.given[i]) for number, i in enumerate(instances)])}

    def elapsed(self, runs: int, minibatches: int) -> Reply:
        """Run `runs` times, on the first `minibatches` mini-batches in turn, timed like the samples of a turn, and do nothing
        else. `told_s`: the sum of the times, which the parent compares with the time that passed (bench/elapsed.py)."""
        told_ns = 0
        with clock.quiet():
            for number in range(runs):
                told_ns += self._run(number % minibatches, fetches=0).run_ns
        return {"told_s": told_ns / 1e9}

    def close(self) -> Reply:
        """The last checks, and what is known only at the end."""
        self._inputs_unchanged()
        ran, flags = facts.collect(self.compiled)
        return {
            "ran": ran,
            "flags": flags,
            "fetches": self.fetches,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }

    def end(self) -> Reply:
        """Close the compiled model."""
        self.compiled.close()
        return {}

    def profile(self, path: str) -> Reply:
        """Run one pass under the Python profiler, and write its listing to `path`."""
        profiler = cProfile.Profile()
        for i in range(len(self.minibatches)):
            profiler.runcall(self.compiled.run, list(self.minibatches[i]))
        with Path(path).open("w") as file:
            pstats.Stats(profiler, stream=file).sort_stats("tottime").print_stats(60)
        return {}

    def oracle(
        self,
        workload: Mapping[str, Any],
        size: str,
        model_seed: int,
        seed: int,
        instances: list[int],
        unseen: bool,
        within_s: float | None,
    ) -> Reply:
        """The oracle's answers to the instances drawn from `seed` with the numbers `instances` (`unseen`: of the workload's
        unseen instances), as many as `within_s` seconds allow. They are handed over as bytes; `size` is the number of bytes."""
        made = _workload(workload)
        drawn = (_unseen(made) if unseen else made.instances)(size, seed, max(instances) + 1)
        module = importlib.import_module("workloads.oracle")
        module.torch.set_num_threads(1)
        found = module.answers(made, size, model_seed, [drawn[i] for i in instances], within_s)
        return {"size": self.writer.bytes(answers.save(found))}

    def survey(self, backend: Mapping[str, Any], workloads: list[Mapping[str, Any]], device: str) -> Reply:
        """For every workload the reason why the backend cannot run it, or None. Only the smallest size is tried."""
        ensure_available(self._backend({"backend": backend, "device": device, "threads": 1}))
        return {"reasons": {w["name"]: self._hole(backend, w, device) for w in workloads}}

    def _hole(self, backend: Mapping[str, Any], workload: Mapping[str, Any], device: str) -> str | None:
        try:
            made = _workload(workload)
            instance = self._backend({"backend": backend, "device": device, "threads": 1})
            with optional_modules(instance):
                instance.compile(made, made.sizes[0], 0, 1).close()
        except Unsupported as error:
            return f"unsupported: {one_line(error)}"
        except Unavailable as error:
            return f"unavailable: {one_line(error)}"
        except Exception as error:
            traceback.print_exc()
            return f"failed: {explain(error)}"
        return None

    def _backend(self, cell: Mapping[str, Any], instead: Mapping[str, Any] | None = None) -> Backend:
        """The backend of a cell, with the options `instead` in place of those of the same names."""
        part = cell["backend"]
        cls: Callable[..., Backend] = resolve(part["target"])
        return cls(Target(cell["device"], cell["threads"]), **{**part["options"], **(instead or {})})

    def _run(self, i: int, fetches: int = 1) -> clock.Sample:
        return clock.sample(self.compiled, self.minibatches[i], i, fetches)

    def _checked_run(self, i: int) -> clock.Sample:
        for earlier in self.checked.values():
            clock.poison(earlier.outputs, len(self.minibatches[i]))
        self.checked[i] = self._run(i, fetches=2)
        self.fetches.append(self.checked[i].fetched)
        return self.checked[i]

    def _inputs_unchanged(self) -> None:
        if fingerprint(self.minibatches) != self.fingerprint:
            raise Wrong("run() changed its inputs")


def _now() -> float:
    """Seconds by a clock that is never adjusted, for timing what takes long."""
    return clock_gettime(CLOCK_MONOTONIC_RAW)


def _workload(part: Mapping[str, Any]) -> Workload:
    cls: Callable[..., Workload] = resolve(part["target"])
    return cls(**part["options"])


def _unseen(workload: Workload) -> Callable[[str, int, int], list[Any]]:
    """The function that draws instances which resemble the workload's, also where it reads its own from a data file."""
    draw: Callable[[str, int, int], list[Any]] = getattr(workload, "unseen", workload.instances)
    return draw


def main() -> None:
    """Answer the requests of the parent process until it closes its end of their pipe."""
    parent, memory_bytes, requests_fd, replies_fd, outputs_fd = (int(arg) for arg in sys.argv[1:6])
    die_with(parent)
    adopt_orphans()
    for descriptor in (requests_fd, replies_fd, outputs_fd):
        os.set_inheritable(descriptor, False)
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    session = Session(Writer(outputs_fd))
    with os.fdopen(requests_fd) as requests, os.fdopen(replies_fd, "w", buffering=1) as replies:
        for line in requests:
            request = json.loads(line)
            try:
                reply = getattr(session, request.pop("do"))(**request)
            except BaseException as error:
                with contextlib.suppress(OSError):  # the disk with the log may be full
                    traceback.print_exc()
                status, why = outcome(error, session.opened)
                reply = {"status": status, "why": why}
            replies.write(json.dumps(reply) + "\n")
            replies.flush()


if __name__ == "__main__":
    main()
