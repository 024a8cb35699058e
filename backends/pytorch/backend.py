"""PyTorch runs the model source as it is, one instance after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from backends.pytorch.devices import missing
from backends.pytorch.precision import Precision, check, choose
from bench.contract import Target, Unsupported, Workload

if TYPE_CHECKING:
    from backends.pytorch.model import Model


class PyTorch:
    """`mode`: eager runs everything as Python; script and compile put the model's `cells`, its methods that are straight-line
    tensor code, through TorchScript or torch.compile, since neither takes recursion over dataclasses; graphs uses torch.compile
    with CUDA graphs, on a GPU.

    `dtype`: float64 is for oracles. `precision`: what the operands of float32 products may be rounded to
    (backends/pytorch/precision.py).
    """

    name = "pytorch"
    packages = ("torch",)

    def __init__(
        self,
        target: Target,
        mode: Literal["eager", "script", "compile", "graphs"] = "eager",
        dtype: Literal["float32", "float64"] = "float32",
        precision: Precision = "fp32",
    ) -> None:
        check(precision)
        if dtype != "float32" and precision != "fp32":
            raise ValueError(
                f"dtype={dtype} and precision={precision}: only products of float32 are rounded; leave one of them out"
            )
        self.target = target
        self.mode = mode
        self.dtype = dtype
        self.precision = precision

    def available(self) -> str | None:
        if self.target.device == "cpu" and self.mode == "graphs":
            return "mode=graphs records CUDA graphs, which a GPU runs: device=cuda"
        return missing(self.target.device)

    def load(self) -> None:
        import backends.pytorch.cells
        import backends.pytorch.model  # noqa: F401

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Model:
        import torch

        from backends.pytorch.cells import Graphed, Traced
        from backends.pytorch.model import Model
        from workloads.spec import loaded

        dtype: torch.dtype = getattr(torch, self.dtype)
        torch.set_num_threads(self.target.threads)
        computing = choose(self.precision, self.target.device, "PyTorch", autocast=True)
        module = loaded(workload, size, seed, dtype).to(self.target.device)
        if self.mode != "eager":
            for cell in cells(workload, self.mode):
                method = getattr(module, cell)
                compilers: Mapping[str, Callable[[Any], Any]] = {
                    "script": Traced,
                    "compile": lambda m: torch.compile(m, dynamic=False),
                    "graphs": Graphed,
                }
                setattr(module, cell, compilers[self.mode](method))
        return Model(module, self.target.device, dtype, computing, self.precision)


def cells(workload: Workload, mode: str) -> Sequence[str]:
    """The names of the methods that `mode` is applied to. Raises Unsupported where the workload names none."""
    names: Sequence[str] = getattr(workload, "cells", ())
    if not names:
        raise Unsupported(f"mode={mode} takes straight-line tensor code only, and {workload.name} names no `cells`")
    return names
