"""Texts of the errors that a model raises itself: `raise ValueError(f"...")` and a failing `assert`.

Compiled code knows each text only by its number. Where the model fails, the code reports that number and the values that stand
in the text; Python puts the text together from them afterwards, by its own formatting rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

RAISED = re.compile(r"raised((?: [ibf][^ ]*)+)\Z")
"""How compiled code reports such an error: "raised i3 i17 b1 f0x1p-1" is text 3 with the values 17, True and 0.5."""


@dataclass(frozen=True, slots=True)
class Message:
    """`text` is for `str.format`, `place` its line in the source, `symbols` the indices of values that stand for strings."""

    place: str
    text: str
    symbols: frozenset[int] = frozenset()


class Messages:
    """The error texts of a program, each with a number. `symbol` gives the string that a number stands for."""

    def __init__(self, symbol: Callable[[int], Any] = int) -> None:
        self._symbol = symbol
        self._texts: list[Message] = []

    def number(self, message: Message) -> int:
        """The number of `message`, which is added if it is new."""
        if message not in self._texts:
            self._texts.append(message)
        return self._texts.index(message)

    def formatted(self, number: int, values: Sequence[Any], symbol: Callable[[int], Any] | None = None) -> str:
        """Text number `number` with `values` filled in, after its place in the source. `symbol` replaces the program's own
        for a mini-batch that has its own numbers for strings."""
        message, symbol = self._texts[number], symbol or self._symbol
        return message.place + message.text.format(*(symbol(v) if i in message.symbols else v for i, v in enumerate(values)))

    def decoded(self, error: str, symbol: Callable[[int], Any] | None = None) -> str:
        """`error`, a message from compiled code, with the model's own text in it if the model has raised it (see `RAISED`)."""
        match = RAISED.search(error)
        if match is None:
            return error
        number, *values = (_value(word) for word in match[1].split())
        return error[: match.start()] + self.formatted(number, values, symbol)


def _value(word: str) -> Any:
    """The value that one word of such an error stands for: its first letter is the type."""
    kind, text = word[0], word[1:]
    return float.fromhex(text) if kind == "f" else bool(int(text)) if kind == "b" else int(text)


def raise_encoded(number: int, *values: float) -> NoReturn:
    """The meaning of the host operation `fail`, without the texts: raises ValueError in the form that `RAISED` matches."""
    words = [f"f{v.hex()}" if isinstance(v, float) else f"{'b' if isinstance(v, bool) else 'i'}{int(v)}" for v in values]
    raise ValueError(" ".join(["raised", f"i{number}", *words]))
