"""Functions on instances and outputs, which are nested structures (dataclasses, lists, tuples) with tensors in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
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
    """The structure as nested lists and tuples of numpy arrays: a dataclass becomes the tuple of its fields."""
    if isinstance(value, Tensor):
        return value.numpy(force=True)
    if isinstance(value, list):
        return [arrays(item) for item in value]
    if isinstance(value, tuple):
        return tuple(arrays(item) for item in value)
    if is_dataclass(value):
        return tuple(arrays(getattr(value, field.name)) for field in fields(value))
    return np.asarray(value)
