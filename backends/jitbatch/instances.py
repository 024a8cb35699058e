"""Makes the tensors in instances, which are nested structures, deferred, and those in outputs tensors again."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from backends.jitbatch.lazy import Deferred

_has_tensors: dict[type, bool] = {}
HOST = frozenset({int, float, bool, str, bytes, type(None)})


def has_tensors(cls: type) -> bool:
    """Whether objects of a dataclass can hold tensors, by the annotations of its fields and of dataclasses named there."""
    if cls not in _has_tensors:
        _has_tensors[cls] = _finds_tensor(cls, set())
    return _has_tensors[cls]


def _finds_tensor(hint: Any, visited: set[Any]) -> bool:
    if isinstance(hint, type) and is_dataclass(hint):
        if hint in visited:
            return False
        visited.add(hint)
        try:
            hints = typing.get_type_hints(hint)
        except Exception:  # a name that cannot be resolved: look at the objects
            return True
        return any(_finds_tensor(hint_inside, visited) for hint_inside in hints.values())
    inner = typing.get_args(hint)
    if inner:
        return any(_finds_tensor(hint_inside, visited) for hint_inside in inner)
    return hint not in HOST and hint is not Ellipsis


def deferred(value: Any, defer: Callable[[Tensor], Any]) -> Any:
    """The instance with `defer` applied to its tensors. Parts without tensors are the same objects as before, not copies."""
    kind = type(value)
    if kind in HOST:
        return value
    if isinstance(value, Tensor):
        return defer(value)
    if kind is list or kind is tuple:
        items = [deferred(item, defer) for item in value]
        unchanged = all(a is b for a, b in zip(items, value, strict=True))
        return value if unchanged else kind(items)
    if is_dataclass(value) and not isinstance(value, type) and has_tensors(kind):
        parts = [getattr(value, field.name) for field in fields(value)]
        items = [deferred(part, defer) for part in parts]
        unchanged = all(a is b for a, b in zip(items, parts, strict=True))
        return value if unchanged else kind(*items)
    return value


def collect_lazy_tensors(value: Any, into: list[Any]) -> None:
    """Adds the deferred tensors of an output to `into`."""
    if isinstance(value, Deferred):
        into.append(value)
    elif isinstance(value, list | tuple):
        for item in value:
            collect_lazy_tensors(item, into)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            collect_lazy_tensors(getattr(value, field.name), into)


def concrete(value: Any, tensor: Callable[[Any], Tensor]) -> Any:
    """The output with `tensor` applied to its deferred tensors."""
    if isinstance(value, Deferred):
        return tensor(value)
    if isinstance(value, list | tuple):
        return type(value)([concrete(item, tensor) for item in value])
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(*[concrete(getattr(value, field.name), tensor) for field in fields(value)])
    return value
