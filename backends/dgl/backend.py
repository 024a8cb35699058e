"""DGL behind the harness's contract."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from backends.pytorch.batched import Batched


class DGL:
    """It has no options: DGL has one way to compute level by level."""

    name = "dgl"
    packages = ("dgl", "torch")
    optional = ("dgl",)

    def __init__(self, target: Target) -> None:
        self.target = target

    def available(self) -> str | None:
        if importlib.util.find_spec("dgl") is None:
            return "DGL is not installed: pip install 'dgl==2.1.0'"
        if self.target.device == "cuda":
            return "DGL's package on PyPI computes on the CPU only"
        return None

    def load(self) -> None:
        import backends.dgl.graphs
        import backends.pytorch.batched  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Batched:
        if not (Path(__file__).parent / f"{workload.name}.py").exists():
            raise Unsupported(f"{workload.name} is neither trees nor grids: there is no backends/dgl/{workload.name}.py")
        import torch

        from backends.dgl.library import load
        from backends.pytorch.batched import Batched, torch_library
        from workloads.spec import loaded

        dgl = load()
        torch.set_num_threads(self.target.threads)
        dgl.utils.set_num_threads(self.target.threads)
        program = importlib.import_module(f"backends.dgl.{workload.name}").Program(loaded(workload, size, seed))
        return Batched(program, "cpu", lambda: f"DGL {dgl.__version__} on {torch_library('cpu')}")
