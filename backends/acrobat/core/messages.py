"""Texts of the errors that a model raises itself: `raise ValueError(f"...")` and a failing `assert`.

The compiled program has a number for each text. Where it fails it gives that number and the values that the text shows; the
text is put together from them afterwards, by Python's own rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

RAISED = re.compile(r"raised((?: [ibf][^ ]*)+)\Z")
"""What compiled code says of such an error: "raised i3 i17 b1 f0x1p-1" is text 3 with the values 17, True and 0.5."""


@dataclass(frozen=True, slots=True)
class Message:
    """`text` as for `str.format`, after `place`, a line of the source. `symbols` are the values that are numbers of strings."""

    place: str
    text: str
    symbols: frozenset[int] = frozenset()


class Messages:
    """The texts of a program, by number. `symbol` gives the string that a number stands for."""

    def __init__(self, symbol: Callable[[int], Any] = int) -> None:
        self._symbol = symbol
        self._texts: list[Message] = []

    def number(self, message: Message) -> int:
        """The number of a text, the same for the same text."""
        if message not in self._texts:
            self._texts.append(message)
        return self._texts.index(message)

    def told(self, number: int, values: Sequence[Any], symbol: Callable[[int], Any] | None = None) -> str:
        """The text with its values, and where in the source it stands. `symbol` as for all messages, where a mini-batch has
        numbers of its own."""
        message, symbol = self._texts[number], symbol or self._symbol
        shown = [symbol(v) if i in message.symbols else v for i, v in enumerate(values)]
        return message.place + message.text.format(*shown)

    def decoded(self, error: str, symbol: Callable[[int], Any] | None = None) -> str:
        """What compiled code says of an error, with the model's own text where it is one that the model has raised."""
        found = RAISED.search(error)
        if found is None:
            return error
        number, *values = (_value(word) for word in found[1].split())
        return error[: found.start()] + self.told(number, values, symbol)


def _value(word: str) -> Any:
    kind, text = word[0], word[1:]
    return float.fromhex(text) if kind == "f" else bool(int(text)) if kind == "b" else int(text)


def encoded(number: int, *values: float) -> NoReturn:
    """The meaning of the host operation `fail` where the texts are not at hand."""
    words = [f"f{v.hex()}" if isinstance(v, float) else f"{'b' if isinstance(v, bool) else 'i'}{int(v)}" for v in values]
    raise ValueError(" ".join(["raised", f"i{number}", *words]))
