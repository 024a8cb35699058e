"""PyTorch runs the model source as it is, one instance after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from bench.contract import Instance, Outputs, Target, Workload
from workloads.spec import loaded
from workloads.structures import arrays, map_tensors


class PyTorch:
    """`mode`: eager. `dtype`: float32, or float64 for the oracle."""

    name = "pytorch"

    def __init__(self, target: Target, mode: str = "eager", dtype: str = "float32", tf32: bool = False) -> None:
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
        return Model(module, self.target.device, self.dtype, {"tf32": self.tf32, "mean_batch_width": 1.0})


class Model:
    """One module on one device."""

    def __init__(self, module: nn.Module, device: str, dtype: torch.dtype, facts: Mapping[str, Any]) -> None:
        self.module = module
        self.device = device
        self.dtype = dtype
        self.facts = facts

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return [map_tensors(lambda t: t.to(self.device, self.dtype), instance) for instance in instances]

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        outputs = [self.module(instance) for instance in minibatch]
        if self.device == "cuda":
            torch.cuda.synchronize()
        return outputs

    def fetch(self, outputs: Outputs) -> list[Any]:
        return [arrays(output) for output in outputs]

    def counters(self) -> Mapping[str, Any]:
        return self.facts

    def close(self) -> None:
        if self.device == "cuda":
            torch.cuda.empty_cache()
