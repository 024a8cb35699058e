"""Importing TorchFold beside today's PyTorch."""

from __future__ import annotations

import importlib
import types
from typing import Any

import torch


class Today(types.ModuleType):
    """Takes the place of the module `torch` inside TorchFold only. When TorchFold was written, `torch.tensor` was a module with
    the class of all tensors in it."""

    tensor = types.SimpleNamespace(_TensorBase=torch.Tensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def load() -> Any:
    """The class `Fold`. Raises ImportError."""
    module = importlib.import_module("torchfold.torchfold")
    if not isinstance(module.torch, Today):
        module.torch = Today("torch")  # type: ignore[attr-defined]
    return module.Fold
