"""The common base of the backends for libraries on top of PyTorch (DGL, TorchFold). They are available where the library is
installed, run on the CPU only, and have a program for each workload that they support."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from backends.pytorch.precision import Precision, check, choose
from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from torch import nn

    from backends.pytorch.batched import Batched, Program


class OfLibrary(ABC):
    """`title`: the library's name; `release`: the release that was tried, as pip names it; `on_cuda`: why it does not run on
    CUDA. `cannot`: by workload, why it has no program; `otherwise`: the reason for workloads that are not in `cannot`."""

    name: str
    title: ClassVar[str]
    release: ClassVar[str]
    packages: Sequence[str]
    optional: Sequence[str]
    on_cuda: ClassVar[str]
    cannot: ClassVar[Mapping[str, str]]
    otherwise: ClassVar[str]

    def __init__(self, target: Target, precision: Precision = "fp32") -> None:
        """`precision`: what the operands of products may be rounded to (backends/pytorch/precision.py)."""
        check(precision)
        self.target = target
        self.precision = precision

    def available(self) -> str | None:
        if importlib.util.find_spec(self.optional[0]) is None:
            return f"{self.title} is not installed: pip install '{self.release}'"
        return self.on_cuda if self.target.device == "cuda" else None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Batched:
        folder = f"backends/{self.name}"
        if not (Path(__file__).parents[2] / folder / f"{workload.name}.py").exists():
            reason = self.cannot.get(workload.name, self.otherwise)
            raise Unsupported(f"{workload.name}: {reason}; there is no {folder}/{workload.name}.py")
        import torch

        from backends.pytorch.batched import Batched
        from backends.pytorch.libraries import what_computes
        from workloads.spec import loaded

        torch.set_num_threads(self.target.threads)
        computing = choose(self.precision, self.target.device, self.title)
        program = self.program(f"backends.{self.name}.{workload.name}", loaded(workload, size, seed))
        known = what_computes("cpu")
        known["library"] = f"{self.version()} on {known['library']}"
        return Batched(program, "cpu", lambda: known, computing, self.precision)

    @abstractmethod
    def program(self, module: str, model: nn.Module) -> Program:
        """The program for `model` from the module of this name."""

    @abstractmethod
    def version(self) -> str:
        """The library with its version, as in "DGL 2.1"."""
