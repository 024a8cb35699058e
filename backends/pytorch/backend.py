"""PyTorch runs the model source as it is, one instance after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from backends.pytorch import libraries
from backends.pytorch.cells import Traced
from bench.contract import Instance, Outputs, Target, Unsupported, Workload
from workloads.spec import loaded
from workloads.structures import arrays, map_tensors


class PyTorch:
    """`mode` eager runs everything as Python; script and compile put the model's `cells`, its methods that are straight-line
    tensor code, through TorchScript or torch.compile, since neither takes recursion over dataclasses.

    `dtype` float64 is for oracles. `tf32` lets CUDA round the inputs of float32 products to 10 bits.
    """

    name = "pytorch"

    def __init__(
        self,
        target: Target,
        mode: Literal["eager", "script", "compile"] = "eager",
        dtype: Literal["float32", "float64"] = "float32",
        tf32: bool = False,
    ) -> None:
        self.target = target
        self.mode = mode
        self.dtype: torch.dtype = getattr(torch, dtype)
        self.tf32 = tf32

    def available(self) -> str | None:
        if self.target.device == "cuda" and not torch.cuda.is_available():
            return "torch sees no CUDA device"
        return None

    def variants(self) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Model:
        torch.set_num_threads(self.target.threads)
        torch.backends.cuda.matmul.allow_tf32 = self.tf32
        torch.backends.cudnn.allow_tf32 = self.tf32
        module = loaded(workload, size, seed, self.dtype).to(self.target.device)
        if self.mode != "eager":
            for cell in cells(workload, self.mode):
                method = getattr(module, cell)
                setattr(module, cell, Traced(method) if self.mode == "script" else torch.compile(method, dynamic=False))
        return Model(module, self.target.device, self.dtype, {"tf32": "on" if self.tf32 else "off", "mean_batch_width": 1.0})


def cells(workload: Workload, mode: str) -> Sequence[str]:
    names: Sequence[str] = getattr(workload, "cells", ())
    if not names:
        raise Unsupported(f"mode={mode} takes straight-line tensor code only, and {workload.name} names no `cells`")
    return names


class Model:
    """One module on one device. `known` are the counters, the same for every run."""

    def __init__(self, module: nn.Module, device: str, dtype: torch.dtype, known: Mapping[str, Any]) -> None:
        self.module = module
        self.device = device
        self.dtype = dtype
        self.known = known

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return [map_tensors(self.put, instance) for instance in instances]

    def put(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else None)

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        outputs = [self.module(instance) for instance in minibatch]
        if self.device == "cuda":
            torch.cuda.synchronize()
        return outputs

    def fetch(self, outputs: Outputs) -> list[Any]:
        return [arrays(output) for output in outputs]

    def counters(self) -> Mapping[str, Any]:
        return self.known

    def facts(self) -> Mapping[str, Any]:
        if self.device != "cpu":
            return {"library": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(), "load_time": ""}
        return {
            "instruction_set": libraries.capability(),
            "library": f"PyTorch {torch.__version__} ({libraries.describe(self.dtype)})",
            "threads": torch.get_num_threads(),
            "load_time": "",
        }

    def close(self) -> None:
        if self.device == "cuda":
            torch.cuda.empty_cache()
