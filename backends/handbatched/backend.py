"""Hand-batched PyTorch behind the harness's contract."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from backends.pytorch.devices import missing
from backends.pytorch.precision import Precision, check, choose
from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from backends.handbatched.setting import Sequences
    from backends.pytorch.batched import Batched


LAYOUTS: tuple[Sequences, ...] = ("packed", "padded", "nested")
WITH_LAYOUTS = ("ragged",)


class HandBatched:
    """`library`: what computes products with weights, blas or onednn (backends/handbatched/products.py); best is the faster.

    `tables`: the products of the vocabulary with the weights that are applied to words are computed when the model is loaded,
    and looked up; `both` measures with and without.

    `sequences`: how sentences of different lengths lie in memory, for the workload that has all three ways (`ragged`): packed,
    padded to the longest and masked, or as PyTorch's nested tensors; all measures each.

    `precision`: what the operands of products may be rounded to (backends/pytorch/precision.py)."""

    name = "handbatched"
    packages = ("torch",)
    uses = ("backends.pytorch",)

    def __init__(
        self,
        target: Target,
        library: Literal["best", "blas", "onednn"] = "best",
        tables: bool | Literal["both"] = False,
        sequences: Literal["packed", "padded", "nested", "all"] = "packed",
        precision: Precision = "fp32",
    ) -> None:
        check(precision)
        if library == "onednn" and precision != "fp32":
            raise ValueError(f"library=onednn and precision={precision}: packed weights are float32; leave one of them out")
        self.target = target
        self.library = library
        self.tables = tables
        self.sequences = sequences
        self.precision = precision

    def available(self) -> str | None:
        if self.target.device == "cuda":
            if self.library == "onednn":
                return "library=onednn computes on the CPU only"
            return missing(self.target.device)
        import torch

        if self.library == "onednn" and not torch.backends.mkldnn.is_available():
            return "this torch was built without oneDNN"
        return None

    def load(self) -> None:
        import backends.pytorch.batched  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        exact = self.precision == "fp32"  # oneDNN's packed weights are float32 only
        names = ("blas", "onednn") if self.target.device == "cpu" and exact else ("blas",)
        libraries: list[dict[str, Any]] = [{"library": name} for name in names] if self.library == "best" else [{}]
        tables: list[dict[str, Any]] = [{"tables": value} for value in (False, True)] if self.tables == "both" else [{}]
        sequences: list[dict[str, Any]] = [{"sequences": layout} for layout in LAYOUTS] if self.sequences == "all" else [{}]
        return [library | with_tables | layout for layout in sequences for with_tables in tables for library in libraries]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Batched:
        if not (Path(__file__).parent / f"{workload.name}.py").exists():
            raise Unsupported(
                f"nobody has batched {workload.name} by hand: there is no backends/handbatched/{workload.name}.py"
            )
        if self.sequences != "packed" and workload.name not in WITH_LAYOUTS:
            raise Unsupported(f"sequences={self.sequences} is for {', '.join(WITH_LAYOUTS)}, and not for {workload.name}")
        import torch

        from backends.handbatched.setting import Setting
        from backends.pytorch.batched import Batched
        from backends.pytorch.libraries import what_computes
        from workloads.spec import loaded

        torch.set_num_threads(self.target.threads)
        computing = choose(self.precision, self.target.device, "handbatched")
        sequences: Sequences = "packed" if self.sequences == "all" else self.sequences
        setting = Setting(self.target.device, "onednn" if self.library == "onednn" else "blas", self.tables is True, sequences)
        module = loaded(workload, size, seed).to(self.target.device)
        with torch.inference_mode():
            program = importlib.import_module(f"backends.handbatched.{workload.name}").Program(module, setting)
        also = "; products with weights by oneDNN, packed" if setting.library == "onednn" else ""
        return Batched(program, setting.device, partial(what_computes, setting.device, also=also), computing, self.precision)
