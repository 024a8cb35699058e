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
    """The tensors as arrays, by one copy for each storage that most of is asked for, and one for all others of a type: what
    each tensor costs by itself is little then, however many there are."""
    result: dict[int, np.ndarray] = {}
    by_storage: dict[tuple[int, torch.dtype], list[int]] = {}
    for i, t in enumerate(tensors):
        by_storage.setdefault((t.untyped_storage().data_ptr(), t.dtype), []).append(i)
    rest: dict[torch.dtype, list[int]] = {}
    for (_, dtype), group in by_storage.items():
        storage = tensors[group[0]].untyped_storage()
        asked = sum(tensors[i].nbytes for i in group)
        if 2 * asked < storage.nbytes() or not all(tensors[i].is_contiguous() for i in group):
            rest.setdefault(dtype, []).extend(group)
            continue
        whole = torch.empty(0, dtype=dtype, device=tensors[group[0]].device).set_(storage).numpy(force=True)
        for i in group:
            t, at = tensors[i], tensors[i].storage_offset()
            result[i] = whole[at : at + t.numel()].reshape(t.shape)
    for group in rest.values():
        together = torch.cat([tensors[i].reshape(-1) for i in group]).numpy(force=True)
        ends = np.cumsum([tensors[i].numel() for i in group])
        for i, part in zip(group, np.split(together, ends[:-1]), strict=True):
            result[i] = part.reshape(tensors[i].shape)
    return [result[i] for i in range(len(tensors))]
