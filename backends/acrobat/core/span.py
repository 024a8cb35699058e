"""Places in a model's source: each node of a program has one, and each error shows one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node comes from: file, 1-based line and end line, 0-based columns."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


NOWHERE = Span("<made>", 0)
