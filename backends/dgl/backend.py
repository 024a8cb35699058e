"""DGL behind the harness's contract."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from backends.pytorch.of_libraries import OfLibrary

if TYPE_CHECKING:
    from torch import nn


class DGL(OfLibrary):
    """Its only option is the precision of products: DGL has one way to compute level by level."""

    name = "dgl"
    title = "DGL"
    release = "dgl==2.1.0"
    packages = ("dgl", "torch")
    optional = ("dgl",)
    uses = ("backends.pytorch",)
    on_cuda = "DGL's package on PyPI computes on the CPU only"
    cannot: ClassVar = {
        "ragged": "attention within a sentence would take an edge for every pair of words",
    }
    otherwise = "its graph is not known before tensors are computed"

    def load(self) -> None:
        import backends.dgl.graphs
        import backends.pytorch.batched  # noqa: F401

    def program(self, module: str, model: nn.Module) -> Any:
        from backends.dgl.library import load

        load().utils.set_num_threads(self.target.threads)
        return importlib.import_module(module).Program(model)

    def version(self) -> str:
        from backends.dgl.library import load

        return f"DGL {load().__version__}"
