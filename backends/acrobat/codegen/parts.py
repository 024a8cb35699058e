"""C++ in parts: plain text, and between it what may differ in the copies of a function (`copies.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Number:
    """A number, which stands there or comes from a table."""

    value: int


@dataclass(frozen=True, slots=True)
class RecordOfUnit:
    """The beginning of a call that records one call of the unit with this number, up to its first argument."""

    unit: int


@dataclass(frozen=True, slots=True)
class CallOf:
    """The beginning of a call of this function of the program, up to the comma before its first argument."""

    function: str


Part = str | Number | RecordOfUnit | CallOf


@dataclass(frozen=True, slots=True)
class CodeInParts:
    """C++ that is not text alone. No two of the parts that follow one another are text, so that equal C++ has equal parts."""

    parts: tuple[Part, ...]

    def __contains__(self, text: str) -> bool:
        return any(text in part for part in self.parts if isinstance(part, str))

    def __str__(self) -> str:
        raise TypeError("C++ in parts is no text yet: `cpp` puts it between others")


Cpp = str | CodeInParts
"""C++ as it is written: plain text if nothing in it may differ."""


def parts_of(code: Cpp) -> tuple[Part, ...]:
    return code.parts if isinstance(code, CodeInParts) else (code,)


def cpp(*pieces: CodeInParts | Part) -> Cpp:
    """The C++ that consists of these pieces, one after the other."""
    parts: list[Part] = []
    flat = (part for piece in pieces for part in (piece.parts if isinstance(piece, CodeInParts) else (piece,)) if part)
    for is_text, group in groupby(flat, lambda part: isinstance(part, str)):
        run = list(group)
        parts += ["".join(map(str, run))] if is_text else run
    match parts:
        case []:
            return ""
        case [str() as text]:
            return text
    return CodeInParts(tuple(parts))


def listed(items: Iterable[CodeInParts | Part]) -> Cpp:
    """The C++ of several items with commas between them."""
    return cpp(*[piece for item in items for piece in (", ", item)][1:])


def call_of(function: str, args: Iterable[CodeInParts | Part]) -> Cpp:
    """The C++ expression for a call."""
    return cpp(f"{function}(", listed(args), ")")
