"""Importing TorchFold beside today's PyTorch."""

from __future__ import annotations

import importlib
import types
from typing import Any

import torch


class Today(types.ModuleType):
    """PyTorch as TorchFold's module sees it, and nobody else: `torch.tensor` was a module when it was written, and the class
    of all tensors was in there."""

    tensor = types.SimpleNamespace(_TensorBase=torch.Tensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def load() -> Any:
    """The class `Fold`. Raises ImportError."""
    module = importlib.import_module("torchfold.torchfold")
    if not isinstance(module.torch, Today):
        module.torch = Today("torch")  # type: ignore[attr-defined]
    return module.Fold
