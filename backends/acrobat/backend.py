"""ACRoBat behind the harness's contract."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from backends.acrobat.options import Options
from bench.contract import Instance, Outputs, Target, Unsupported, Workload

CUMULATIVE = (
    "vertical",
    "coarsen",
    "hoist",
    "phases",
    "gather_fusion",
    "fold_sums",
    "horizontal",
    "constant_work",
    "specialise",
)
"""The order in which the cumulative ablation turns the switches on (paper: the ablation figure's, then ours)."""


class Acrobat:
    """Every switch of `Options` is a keyword, so that `backend.acrobat.<switch>=false` turns it off; `codegen=vm`
    interprets the host program instead of compiling it.

    `ablation` measures several settings as cells of their own: `alone` everything on and each switch off by itself,
    `cumulative` everything off and the switches turned on one after the other.
    """

    name = "acrobat"

    def __init__(
        self,
        target: Target,
        specialise: bool = True,
        constant_work: bool = True,
        fold_sums: bool = True,
        horizontal: bool = True,
        vertical: bool = True,
        coarsen: bool = True,
        gather_fusion: bool = True,
        hoist: bool = True,
        phases: bool = True,
        codegen: Literal["aot", "vm"] = "aot",
        checked: bool = False,
        ablation: Literal["none", "alone", "cumulative"] = "none",
    ) -> None:
        self.target = target
        self.checked = checked
        self.ablation = ablation
        self.options = Options(
            specialise, constant_work, fold_sums, horizontal, vertical, coarsen, gather_fusion, hoist, phases, codegen
        )

    def available(self) -> str | None:
        if self.target.device != "cpu":
            return "it generates code for CPUs only"
        if not shutil.which(os.environ.get("CXX", "g++")) and not shutil.which("clang++"):
            return "there is no C++ compiler"
        return None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        if self.ablation == "alone":
            return [{"ablation": "none", **({switch: False} if switch else {})} for switch in ("", *CUMULATIVE)]
        if self.ablation == "cumulative":
            return [
                {"ablation": "none", **{switch: k < on for k, switch in enumerate(CUMULATIVE)}}
                for on in range(len(CUMULATIVE) + 1)
            ]
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Compiled:
        from backends.acrobat.compiler import compile
        from backends.acrobat.errors import CompileError
        from workloads.spec import loaded

        try:
            return Compiled(
                compile(loaded(workload, size, seed), threads=self.target.threads, options=self.options, checked=self.checked)
            )
        except CompileError as error:
            raise Unsupported(str(error)) from error


class Compiled:
    def __init__(self, executable: Any) -> None:
        import torch

        self.executable = executable
        self.inference_mode = torch.inference_mode

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return list(instances)

    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        with self.inference_mode():  # as eager PyTorch is run: result tensors are cheaper to make
            return self.executable(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        from workloads.structures import arrays

        fetched: list[Any] = arrays(outputs)
        return fetched

    def counters(self) -> Mapping[str, Any]:
        c = self.executable.counters()
        return {**c, "mean_batch_width": c["nodes"] / c["batches"] if c["batches"] else 0.0}

    def close(self) -> None:
        self.executable.close()
