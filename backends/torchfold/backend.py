"""TorchFold behind the harness's contract."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from backends.pytorch.of_libraries import OfLibrary

if TYPE_CHECKING:
    from torch import nn


class TorchFold(OfLibrary):
    """Its only option is the precision of products: TorchFold has one way to batch."""

    name = "torchfold"
    title = "TorchFold"
    release = "torchfold==0.1.0"
    packages = ("torchfold", "torch")
    optional = ("torchfold",)
    uses = ("backends.pytorch",)
    on_cuda = "only the CPU was tried: TorchFold's own choice of a device is that of PyTorch 0.1"
    cannot: ClassVar = {
        "ragged": "a fold joins results of one shape, and those of sentences have as many rows as there are words",
    }
    otherwise = "nothing is computed before all operations have been added, and its control flow waits for tensors"

    def load(self) -> None:
        import backends.pytorch.batched
        import backends.torchfold.folding  # noqa: F401

    def program(self, module: str, model: nn.Module) -> Any:
        from backends.torchfold.folding import Folding

        return Folding(importlib.import_module(module).Operations(model))

    def version(self) -> str:
        return "TorchFold 0.1.0"
