"""A hand-batched program behind the harness's contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Protocol

import torch

from backends.handbatched.products import Library
from backends.pytorch import libraries
from bench.contract import Instance, Outputs
from workloads.structures import arrays, map_tensors

SPELLED = {"blas": "", "onednn": "; products with weights oneDNN, packed"}


@dataclass(frozen=True)
class Setting:
    """How a program is to compute: where, with which library, and whether the vocabulary is projected when it is made."""

    device: str
    library: Library
    tables: bool


class Counts:
    """Of one run: milliseconds spent on index tensors and on reading values; `nodes` are applications of a cell to an instance,
    `batches` to all instances that are at the same place."""

    def __init__(self) -> None:
        self.ingest_ns = self.fetch_ns = self.run_ns = 0
        self.nodes = self.batches = 0

    @contextmanager
    def ingesting(self) -> Iterator[None]:
        """Around what is made of the instances' structure."""
        start = perf_counter_ns()
        yield
        self.ingest_ns += perf_counter_ns() - start

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """Around the reading of values that control flow or an answer in Python needs."""
        start = perf_counter_ns()
        yield
        self.fetch_ns += perf_counter_ns() - start


class Program(Protocol):
    """A workload's model, made from the PyTorch module with its parameters and a `Setting`."""

    projected: bool
    """Was the vocabulary projected when the program was made?"""

    def run(self, minibatch: Sequence[Instance], counts: Counts) -> Outputs:
        """An output for each instance, as the model has it, with tensors or Python numbers."""
        ...


class Model:
    """A program on a device."""

    def __init__(self, program: Program, setting: Setting) -> None:
        self.program = program
        self.setting = setting
        self.counts = Counts()

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return [map_tensors(self.put, instance) for instance in instances]

    def put(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.setting.device, torch.float32 if tensor.is_floating_point() else None)

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        start = perf_counter_ns()
        self.counts = Counts()
        outputs = self.program.run(minibatch, self.counts) if minibatch else []
        if self.setting.device == "cuda":
            torch.cuda.synchronize()
        self.counts.run_ns = perf_counter_ns() - start
        return outputs

    def fetch(self, outputs: Outputs) -> list[Any]:
        return [arrays(output) for output in outputs]

    def counters(self) -> Mapping[str, Any]:
        counts = self.counts
        return {
            "ingest_ms": counts.ingest_ns / 1e6,
            "kernel_ms": (counts.run_ns - counts.ingest_ns - counts.fetch_ns) / 1e6,
            "fetch_ms": counts.fetch_ns / 1e6,
            "nodes": counts.nodes,
            "batches": counts.batches,
            "mean_batch_width": counts.nodes / counts.batches if counts.batches else 0.0,
        }

    def facts(self) -> Mapping[str, Any]:
        found = {"threads": torch.get_num_threads(), "load_time": "tables" if self.program.projected else ""}
        if self.setting.device != "cpu":
            return found | {"library": f"PyTorch {torch.__version__}"}
        described = libraries.describe(torch.float32) + SPELLED[self.setting.library]
        return found | {"library": f"PyTorch {torch.__version__} ({described})", "instruction_set": libraries.capability()}

    def close(self) -> None:
        if self.setting.device == "cuda":
            torch.cuda.empty_cache()
