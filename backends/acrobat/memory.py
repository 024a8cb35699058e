"""Which tensors can be read straight from memory: by the runtime (instances) and at compile time (weights)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def has_ordinary_memory(cls: Any) -> bool:
    """Whether a tensor's values are those in its memory: `cls`, torch.Tensor or a subclass, must not redefine operations."""
    function = cls.__torch_function__
    return (
        function is torch._C._disabled_torch_function_impl  # nn.Parameter
        or getattr(function, "__func__", None) is torch.Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
    ) and cls.__torch_dispatch__ is torch.Tensor.__torch_dispatch__  # type: ignore[attr-defined]


def unusable(t: Tensor) -> str:
    """Why the values of a parameter or buffer cannot be read, and what to do; "" if they can."""
    if nn.parameter.is_lazy(t):
        return "has no values yet: run the module once in eager PyTorch first"
    if not has_ordinary_memory(type(t)):
        return f"is of the class {type(t).__name__}, which changes what operations do: make it an ordinary tensor"
    if t.device.type == "meta":
        return "has no values (device meta): load its weights first"
    if t.layout != torch.strided:
        return f"has the layout {str(t.layout).removeprefix('torch.')}: make it dense, with `.to_dense()`"
    if t.is_quantized:
        return "is quantised: make it float32, with `.dequantize()`"
    if t.is_complex():
        return "is complex, which is not in the language: keep its real and imaginary parts"
    return ""
