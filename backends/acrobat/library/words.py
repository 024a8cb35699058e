"""Words that the library says to the compiler; in eager Python they do what their names say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn


def unrolled(items: Iterable[Any]) -> list[Any]:
    """The items, over which a loop is compiled one body after the other: each is known at compile time."""
    return list(items)


def in_order(keys: Sequence[float], descending: bool) -> list[int]:
    """Where the keys, numbers of one kind, stand when they are sorted; equal ones stay in their order, and NaN is above all."""
    return sorted(range(len(keys)), key=lambda i: (keys[i] != keys[i], keys[i]), reverse=descending)


def refuse(message: str, advice: str = "") -> NoReturn:
    """What is asked for is outside the language: the error of the call."""
    raise NotImplementedError(f"{message}; {advice}" if advice else message)
