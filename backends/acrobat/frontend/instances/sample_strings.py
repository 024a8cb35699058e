"""The strings that the instances of a sample have in them: what a name of run time may be where the source does not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from torch import Tensor, nn


def strings_in(instances: Sequence[Any]) -> frozenset[str]:
    """All strings in the instances: elements, keys and values of dictionaries, attributes of objects, to any depth."""
    strings: set[str] = set()
    visited: set[int] = set()
    pending: list[Any] = list(instances)
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            strings.add(value)
        elif id(value) not in visited and not isinstance(value, (Tensor, nn.Module, type)):
            visited.add(id(value))
            pending += _inside(value)
    return frozenset(strings)


def _inside(value: Any) -> list[Any]:
    match value:
        case Mapping():
            return [*value.keys(), *value.values()]
        case Sequence() | Set():
            return [] if isinstance(value, (bytes, range)) else list(value)
    return list(getattr(value, "__dict__", {}).values())
