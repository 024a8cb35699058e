"""A PyTorch module behind the harness's contract. Apart from the backend, so that reading its options does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from backends.pytorch import libraries
from bench.contract import Instance, Outputs
from workloads.structures import arrays, map_tensors


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
