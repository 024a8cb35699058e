"""TorchFold behind the harness's contract."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from backends.pytorch.batched import Batched


class TorchFold:
    """It has no options: TorchFold has one way to batch."""

    name = "torchfold"
    packages = ("torchfold", "torch")
    optional = ("torchfold",)

    def __init__(self, target: Target) -> None:
        self.target = target

    def available(self) -> str | None:
        if importlib.util.find_spec("torchfold") is None:
            return "TorchFold is not installed: pip install 'torchfold==0.1.0'"
        if self.target.device == "cuda":
            return "only the CPU was tried: TorchFold's own choice of a device is that of PyTorch 0.1"
        return None

    def load(self) -> None:
        import backends.pytorch.batched
        import backends.torchfold.folding  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Batched:
        if not (Path(__file__).parent / f"{workload.name}.py").exists():
            raise Unsupported(f"{workload.name} is neither trees nor grids: there is no backends/torchfold/{workload.name}.py")
        import torch

        from backends.pytorch.batched import Batched, torch_library
        from backends.torchfold.folding import Folding
        from workloads.spec import loaded

        torch.set_num_threads(self.target.threads)
        model = loaded(workload, size, seed)
        program = Folding(importlib.import_module(f"backends.torchfold.{workload.name}").Operations(model))
        return Batched(program, "cpu", lambda: f"TorchFold 0.1.0 on {torch_library('cpu')}")
