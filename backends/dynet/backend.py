"""DyNet with its autobatching, behind the harness's contract.

Counters. `construct_ms` is the sum of `renew_ms`, freeing the graph of the mini-batch before, and `build_ms`, building the new
graph and taking decisions. `forward_ms` is the time in DyNet: `kernel_ms` is the share of operators and of gathering their
operands, which DyNet's profiler measures, and `schedule_ms` the rest; where the profiler does not work, `kernel_ms` is all of
`forward_ms`. `fetch_ms` is reading values for control flow or an argmax. The first call of `counters` after a mini-batch runs
it once more to count batches and the operators that ran unbatched.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Literal, Protocol

import numpy as np

from backends.dynet import engine, pool
from backends.dynet.profile import Profile, Profiler
from backends.pytorch.precision import Precision, check, only_fp32
from bench.contract import Instance, Outputs, Target, Unsupported, Workload

REPEATS = 2
PROFILING_S = 1.0  # how long extra passes may take in all, over as many mini-batches as fit, but at least over one
HAS_CUDA = "import dynet_config; dynet_config.set(mem='4'); import dynet; raise SystemExit(0 if dynet.HAVE_CUDA else 3)"


class Program(Protocol):
    """A workload's model in DyNet, made from the PyTorch module (for its settings) and the parameters. A class variable
    `unsupported` maps each `autobatch` that the program cannot run with to the reason."""

    def run(self, minibatch: Sequence[Instance], graph: engine.Graph) -> Outputs:
        """Build the graph of all instances and evaluate it. Returns nested lists and tuples of expressions or host values."""
        ...


class DyNet:
    """`autobatch`: 0 none, 1 by agenda, 2 by depth, 3 by agenda that waits for others of the same depth; best is the fastest
    of 1, 2 and 3. `mem`: DyNet's `--dynet-mem`, in MB; by default it grows to what the mini-batches need.

    `formulation`: best, programs in forms that DyNet's heuristics batch well, or naive, what a user writes first
    (backends/dynet/naive), which runs only with the strategies of DyNet's paper, 1 and 2 (or with 0), and without tables.

    `tables`: the products of the vocabulary with the weights that are applied to words are computed at load time and looked up;
    `both` measures with and without. `path`: a folder with a DyNet of one's own build (the modules `dynet` and `_dynet`), to be
    used in place of the installed one. `precision`: only `fp32` is supported."""

    name = "dynet"
    packages = ("dyNET38",)
    uses = ("backends.pytorch.precision",)
    optional = ("dynet", "_dynet", "dynet_config")

    def __init__(
        self,
        target: Target,
        autobatch: Literal["best", 0, 1, 2, 3] = "best",
        mem: int | None = None,
        tables: bool | Literal["both"] = False,
        path: str | None = None,
        formulation: Literal["best", "naive"] = "best",
        precision: Precision = "fp32",
    ) -> None:
        check(precision)
        if autobatch not in ("best", 0, 1, 2, 3):
            raise ValueError(f"autobatch is best, 0, 1, 2 or 3, not {autobatch!r}")
        self.target = target
        self.autobatch = autobatch
        self.mem = mem
        self.tables = tables
        self.path = path
        self.formulation = formulation
        self.precision = precision

    def available(self) -> str | None:
        try:
            engine.find(self.path)
        except ImportError as error:
            if self.path is None and not isinstance(error, ModuleNotFoundError):
                raise  # it is installed, and broken
            return f"DyNet cannot be imported ({error})"
        if (
            self.target.device == "cuda"
            and subprocess.run(
                [sys.executable, "-c", HAS_CUDA], capture_output=True, env=engine.environment(self.path)
            ).returncode
        ):
            return f"the {'installed DyNet' if self.path is None else 'DyNet in ' + self.path} has no CUDA"
        return None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        if self.path is not None and not any(Path(self.path).glob("_dynet*.so")):
            raise ValueError(f"path={self.path}: {'no _dynet*.so is in it' if Path(self.path).is_dir() else 'no such folder'}")
        numbers = (1, 2, 3) if self.formulation == "best" else (1, 2)
        strategies: list[dict[str, Any]] = [{"autobatch": n} for n in numbers] if self.autobatch == "best" else [{}]
        tables: list[dict[str, Any]] = [{"tables": value} for value in (False, True)] if self.tables == "both" else [{}]
        return [strategy | with_tables for with_tables in tables for strategy in strategies]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        only_fp32("DyNet", self.precision, "multiplies in float32 alone")
        folder = Path(__file__).parent
        module = f"backends.dynet.{workload.name}"
        if self.formulation == "naive":
            folder, module = folder / "naive", f"backends.dynet.naive.{workload.name}"
            if self.autobatch == 3 or self.tables is True:
                raise Unsupported("the naive formulations are for autobatch 0, 1 and 2, and without tables")
        if not (folder / f"{workload.name}.py").exists():
            raise Unsupported(f"there is no {self.formulation} DyNet program for {workload.name}")
        model, arrays = workload.model(size), workload.params(size, seed)
        autobatch = 1 if self.autobatch == "best" else self.autobatch
        values_mb = pool.START_MB if self.mem is None else self.mem
        engine.start(autobatch, values_mb, pool.parameters_mb(arrays), self.target.device, self.path)
        make = importlib.import_module(module).Program
        if autobatch in getattr(make, "unsupported", {}):
            raise Unsupported(make.unsupported[autobatch])
        parameters = engine.Parameters(arrays, tables=self.tables is True)
        program = make(model, parameters)
        return Compiled(program, parameters, self.target, autobatch, grow=self.mem is None)


class Compiled:
    """A program and its parameters."""

    def __init__(self, program: Program, parameters: engine.Parameters, target: Target, autobatch: int, grow: bool) -> None:
        self.program = program
        self.parameters = parameters  # without their collection they are freed
        self.target = target
        self.graph = engine.Graph(target.device)
        self.autobatch = autobatch
        self.grow = grow
        self.run_ns = 0
        self.profiler = Profiler.find() if autobatch else None
        self.profiling_ns = 0  # spent so far
        self.profiles: dict[int, tuple[Profile, float | None, Instance]] = {}
        """By the identity of the first instance, which each entry keeps, lest another one gets its address."""
        self.minibatch: Sequence[Instance] = ()

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        from workloads.structures import map_tensors

        arrays: list[np.ndarray] = []

        def collect(tensor: Any) -> Any:
            arrays.append(tensor.numpy())
            return tensor

        for instance in instances:
            map_tensors(collect, instance)
        inputs: Iterator[Any] = iter(self.parameters.place(arrays))
        return [map_tensors(lambda _: next(inputs), instance) for instance in instances]

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        start = perf_counter_ns()
        self.graph.renew()
        outputs = self.program.run(minibatch, self.graph)
        self.run_ns = perf_counter_ns() - start
        self.minibatch = minibatch
        return outputs

    def fetch(self, outputs: Outputs) -> list[Any]:
        fetched: list[Any] = _fetched(outputs)
        return fetched

    def counters(self) -> Mapping[str, Any]:
        """The harness asks for counters after the clock has stopped and the outputs are fetched, so the first call also makes
        the memory pools grow and runs the mini-batch again with the profiler. Both use only instances that were run before:
        with autobatch=3 DyNet crashes on some."""
        graph = self.graph
        build_ns = self.run_ns - graph.renew_ns - graph.forward_ns - graph.fetch_ns
        counted: dict[str, Any] = {
            "construct_ms": (graph.renew_ns + build_ns) / 1e6,
            "kernel_ms": graph.forward_ns / 1e6,
            "fetch_ms": graph.fetch_ns / 1e6,
            "renew_ms": graph.renew_ns / 1e6,
            "build_ms": build_ns / 1e6,
            "forward_ms": graph.forward_ns / 1e6,
            "nodes": graph.nodes(),
        }
        if self.minibatch and self.grow:
            self.grow = False
            minibatch = self.minibatch
            self.run(pool.larger(minibatch, len(minibatch)))
            self.minibatch = minibatch
        if not self.autobatch:
            return counted | {"batches": counted["nodes"], "launches": counted["nodes"], "mean_batch_width": 1.0}
        profile, kernel_share = self._profile(self.minibatch)
        if kernel_share is not None:
            counted["kernel_ms"] = kernel_share * counted["forward_ms"]
            counted["schedule_ms"] = counted["forward_ms"] - counted["kernel_ms"]
        if profile is not None:
            counted["batches"] = counted["launches"] = profile.batches
            counted["mean_batch_width"] = profile.mean_batch_width
            counted["unbatched"] = profile.unbatched
        return counted

    def facts(self) -> Mapping[str, Any]:
        return {
            "instruction_set": engine.instruction_set(),
            "library": engine.library(),
            "threads": engine.threads(self.target.threads),
            "load_time": "tables" if self.parameters.has_tables else "",
        }

    def close(self) -> None:
        self.graph.renew()

    def _profile(self, minibatch: Sequence[Instance]) -> tuple[Profile | None, float | None]:
        """The profile of the mini-batch that was run last, and the share of operators in the time of `forward`; either may be
        None. The first call for a mini-batch makes extra passes, unless PROFILING_S is used up."""
        if not minibatch:
            return None, None
        key = id(minibatch[0])
        if key not in self.profiles and self.profiler is not None and self.profiling_ns < PROFILING_S * 1e9:
            start = perf_counter_ns()
            profile = self.profiler.profile(partial(self.run, minibatch))
            self.profiles[key] = profile, self._kernel_share(minibatch, profile, self.profiler), minibatch[0]
            self.profiling_ns += perf_counter_ns() - start
        profile_and_share = self.profiles.get(key)
        return profile_and_share[:2] if profile_and_share else (None, None)

    def _kernel_share(self, minibatch: Sequence[Instance], profile: Profile, profiler: Profiler) -> float | None:
        """The share of operators in the time of `forward`. The profiler slows what is around the operators, so the operators'
        time comes from the fastest of a few passes with it and the whole time from the fastest without it. Long passes are not
        repeated: there the difference is small."""
        executing, forward = profile.executing_ms, self.graph.forward_ns / 1e6
        if executing is None or not forward:
            return None
        if forward < PROFILING_S * 1e3:
            again = [profiler.profile(partial(self.run, minibatch)).executing_ms for _ in range(REPEATS)]
            executing = min([executing, *(ms for ms in again if ms is not None)])
            for _ in range(REPEATS):
                self.run(minibatch)
                forward = min(forward, self.graph.forward_ns / 1e6)
        return min(executing / forward, 1.0)


def _fetched(value: Any) -> Any:
    if isinstance(value, list):
        return [_fetched(element) for element in value]
    if isinstance(value, tuple):
        return tuple(_fetched(element) for element in value)
    return value.npvalue() if hasattr(value, "npvalue") else value
