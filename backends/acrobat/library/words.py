"""Two words that the library says to the compiler; in eager Python they do what their names say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn


def unrolled(items: Iterable[Any]) -> list[Any]:
    """The items, over which a loop is compiled one body after the other: each is known at compile time."""
    return list(items)


def refuse(message: str, advice: str = "") -> NoReturn:
    """What is asked for is outside the language: the error of the call."""
    raise NotImplementedError(f"{message}; {advice}" if advice else message)
