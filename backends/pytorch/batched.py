"""Programs that compute whole mini-batches with PyTorch's operators, behind the harness's contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter_ns
from typing import Any, Protocol

import torch

from backends.pytorch.model import OnDevice
from backends.pytorch.precision import Precision, fact
from bench.contract import Instance, Outputs


class Counts:
    """Counts of one run: the nanoseconds of its parts; `nodes`, how often a cell was applied to an instance; `batches`, how
    often to all instances that were at the same place."""

    def __init__(self) -> None:
        self.ingest_ns = self.construct_ns = self.schedule_ns = self.fetch_ns = self.run_ns = 0
        self.nodes = self.batches = 0

    @contextmanager
    def ingesting(self) -> Iterator[None]:
        """A context around reading the instances' structure."""
        start = perf_counter_ns()
        yield
        self.ingest_ns += perf_counter_ns() - start

    @contextmanager
    def constructing(self) -> Iterator[None]:
        """A context around building a graph of the operations to run."""
        start = perf_counter_ns()
        yield
        self.construct_ns += perf_counter_ns() - start

    @contextmanager
    def scheduling(self) -> Iterator[None]:
        """A context around deciding what is computed together."""
        start = perf_counter_ns()
        yield
        self.schedule_ns += perf_counter_ns() - start

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """A context around reading values that control flow or an output in Python needs."""
        start = perf_counter_ns()
        yield
        self.fetch_ns += perf_counter_ns() - start


class Program(Protocol):
    """A workload's model, written for whole mini-batches."""

    has_tables: bool
    """Whether the products of the vocabulary with weights were computed when the program was made."""

    def run(self, minibatch: Sequence[Instance], counts: Counts) -> Outputs:
        """An output for each instance, structured as the model's, of tensors or Python numbers. The mini-batch is not empty."""
        ...


class Batched(OnDevice):
    """A program on a device. `what_computes()` gives the facts about that, as the function in `libraries.py` does; it is called
    once. `computing()` is a context for all computation (see `precision.choose`)."""

    def __init__(
        self,
        program: Program,
        device: str,
        what_computes: Callable[[], Mapping[str, str]],
        computing: Callable[[], AbstractContextManager[object]] = nullcontext,
        precision: Precision = "fp32",
    ) -> None:
        super().__init__(device)
        self.program = program
        self.what_computes = what_computes
        self.computing = computing
        self.precision = precision
        self.counts = Counts()

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        start = perf_counter_ns()
        self.counts = Counts()
        with self.computing():
            outputs = self.program.run(minibatch, self.counts) if minibatch else []
        self.synchronize()
        self.counts.run_ns = perf_counter_ns() - start
        return outputs

    def counters(self) -> Mapping[str, Any]:
        counts = self.counts
        before = counts.ingest_ns + counts.construct_ns + counts.schedule_ns
        return {
            "ingest_ms": counts.ingest_ns / 1e6,
            "construct_ms": counts.construct_ns / 1e6,
            "schedule_ms": counts.schedule_ns / 1e6,
            "kernel_ms": (counts.run_ns - before - counts.fetch_ns) / 1e6,
            "fetch_ms": counts.fetch_ns / 1e6,
            "nodes": counts.nodes,
            "batches": counts.batches,
            "mean_batch_width": counts.nodes / counts.batches if counts.batches else 0.0,
        }

    def facts(self) -> Mapping[str, Any]:
        load_time = "tables" if self.program.has_tables else ""
        known = {"threads": torch.get_num_threads(), "load_time": load_time, **fact(self.precision)}
        return {**known, **self.what_computes()}
