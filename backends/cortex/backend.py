"""Cortex behind the harness's contract."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.kernels.cpu.target import CpuTarget, UnsupportedCpu
from backends.acrobat.options import Isa
from backends.cortex.options import Options
from backends.pytorch.precision import Precision, check, only_fp32
from bench.contract import Instance, Outputs, Target, Unsupported, Workload

DECIDED_BY_TENSORS = ("beam", "berxit", "drnn", "nestedrnn", "seq2seq", "stackrnn")
"""The workloads whose control flow depends on values of tensors."""


class Cortex:
    """The switches are those of `Options` (backends/cortex/options.py). `isa`: the instruction set of the kernels, as for
    ACRoBat. `precision`: only `fp32` is supported."""

    name = "cortex"
    packages = ("apache-tvm", "apache-tvm-ffi")
    programs = ("g++",)
    uses = (
        "backends.acrobat.core",
        "backends.acrobat.codegen.build",
        "backends.acrobat.kernels",
        "backends.acrobat.options",
        "backends.acrobat.runtime",
        "backends.acrobat.versions",
        "backends.pytorch.precision",
    )

    def __init__(
        self,
        target: Target,
        batching: bool = True,
        specialise: bool = True,
        propagate: bool = True,
        hoist: bool = True,
        fusion: bool = True,
        dense: bool = True,
        refactor: bool = False,
        unroll: bool = False,
        persist: bool = True,
        isa: Isa = "native",
        precision: Precision = "fp32",
    ) -> None:
        check(precision)
        self.target = target
        self.isa = isa
        self.precision = precision
        self.options = Options(batching, specialise, propagate, hoist, fusion, dense, refactor, unroll, persist)

    def available(self) -> str | None:
        if self.target.device != "cpu":
            return "it generates code for CPUs only"
        try:
            compiler()
            CpuTarget.detect(self.isa)
        except (BuildError, UnsupportedCpu) as error:
            return str(error)
        return None

    def load(self) -> None:
        import backends.cortex.compiler  # noqa: F401
        import workloads.structures  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        only_fp32("Cortex", self.precision, "has ACRoBat's kernels for processors, which multiply in float32 alone")
        if workload.name in DECIDED_BY_TENSORS:
            raise Unsupported(
                "its control flow depends on values of tensors, and Cortex linearises structures before any tensor is computed"
            )
        if not (Path(__file__).parent / f"{workload.name}.py").exists():
            raise Unsupported(f"no recursion is written for {workload.name}: there is no backends/cortex/{workload.name}.py")
        from backends.cortex.compiler import compile

        program = importlib.import_module(f"backends.cortex.{workload.name}").program
        executable = compile(program, workload.params(size, seed), self.target.threads, self.options, self.isa)
        return Compiled(executable, self.target.threads)


class Compiled:
    """What `Cortex.compile` returns: the methods are those of `Compiled` in `bench/contract.py`."""

    def __init__(self, executable: Any, threads: int) -> None:
        import torch

        self.executable = executable
        self.threads = threads
        self.inference_mode = torch.inference_mode

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return list(instances)

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        with self.inference_mode():  # result tensors are cheaper to make
            return self.executable.run(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        from workloads.structures import arrays

        fetched: list[Any] = arrays(outputs)
        return fetched

    def counters(self) -> Mapping[str, Any]:
        c = self.executable.counters()
        return {**c, "mean_batch_width": c["nodes"] / c["batches"] if c["batches"] else 0.0}

    def facts(self) -> Mapping[str, Any]:
        manifest = self.executable.manifest
        return {
            "instruction_set": manifest["instruction_set"],
            "library": f"generated kernels, LLVM {manifest['llvm']}",
            "threads": self.threads,
            "load_time": "",
        }

    def close(self) -> None:
        self.executable.close()
