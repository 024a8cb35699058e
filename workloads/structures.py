"""Functions on instances and outputs, which are nested structures (dataclasses, lists, tuples) with tensors in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


def map_tensors(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """The same structure with `function` applied to every tensor in it."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(function, item) for item in value)
    if is_dataclass(value):
        return type(value)(*(map_tensors(function, getattr(value, field.name)) for field in fields(value)))  # type: ignore[misc]
    return value


def arrays(value: Any) -> Any:
    """The structure as nested lists and tuples of numpy arrays: a dataclass becomes the tuple of its fields. Tensors of a GPU
    are copied to the host together, since each copy by itself takes ten microseconds and more, however small it is."""
    on_device: list[Tensor] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            if value.is_cpu:
                return value.numpy(force=True)
            on_device.append(value)
            return value
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, tuple):
            return tuple(plain(item) for item in value)
        if is_dataclass(value):
            return tuple(plain(getattr(value, field.name)) for field in fields(value))
        return np.asarray(value)

    result = plain(value)
    copies = iter(on_host(on_device))

    def replaced(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(replaced(item) for item in value)
        return next(copies) if isinstance(value, Tensor) else value

    return replaced(result) if on_device else result


def on_host(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """The tensors as arrays, by one copy for each of their types."""
    result: dict[int, np.ndarray] = {}
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        group = [(i, t) for i, t in enumerate(tensors) if t.dtype == dtype]
        together = torch.cat([t.reshape(-1) for _, t in group]).numpy(force=True)
        ends = np.cumsum([t.numel() for _, t in group])
        for (i, t), part in zip(group, np.split(together, ends[:-1]), strict=True):
            result[i] = part.reshape(t.shape)
    return [result[i] for i in range(len(tensors))]
