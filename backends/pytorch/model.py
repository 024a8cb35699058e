"""A PyTorch module behind the harness's contract, in a separate file, so that importing the backend does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from backends.pytorch import libraries
from backends.pytorch.precision import Precision, fact
from bench.contract import Instance, Outputs
from workloads.structures import arrays, map_tensors


class OnDevice:
    """What the models of all systems that compute with PyTorch share: bringing tensors to the device and back. Floating-point
    tensors of instances get the type `dtype`."""

    def __init__(self, device: str, dtype: torch.dtype = torch.float32) -> None:
        self.device = device
        self.dtype = dtype
        self.synchronize: Callable[[], None] = getattr(torch, device, torch.cpu).synchronize
        """Waits until the device has done its work; a processor, or PyTorch's device `meta` that computes nothing, has."""

    def place(self, instances: Sequence[Instance]) -> list[Instance]:
        return [map_tensors(self.put, instance) for instance in instances]

    def put(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else None)

    def fetch(self, outputs: Outputs) -> list[Any]:
        fetched: list[Any] = arrays(outputs)
        return fetched

    def close(self) -> None:
        if torch.accelerator.is_available():
            torch.accelerator.empty_cache()


class Model(OnDevice):
    """One module on one device. `computing()` is a context for all computation (see `precision.choose`)."""

    def __init__(
        self,
        module: nn.Module,
        device: str,
        dtype: torch.dtype,
        computing: Callable[[], AbstractContextManager[object]] = nullcontext,
        precision: Precision = "fp32",
    ) -> None:
        super().__init__(device, dtype)
        self.module = module
        self.computing = computing
        self.precision = precision

    @torch.inference_mode()
    def run(self, minibatch: Sequence[Instance]) -> Outputs:
        with self.computing():
            outputs = [self.module(instance) for instance in minibatch]
        self.synchronize()
        return outputs

    def counters(self) -> Mapping[str, Any]:
        return {"mean_batch_width": 1.0}

    def facts(self) -> Mapping[str, Any]:
        known = {"threads": torch.get_num_threads(), "load_time": "", **fact(self.precision)}
        return known | libraries.what_computes(self.device, self.dtype)
