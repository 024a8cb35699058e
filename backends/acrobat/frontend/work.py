"""How much one round of compiling compiles.

Loops over constants may be unrolled, what follows a branch that may be left is compiled in each of its arms, and functions
are compiled for constants. Where such stand inside of or behind each other the numbers multiply, so that a few lines could
keep the compiler busy for hours.
"""

from __future__ import annotations

import ast

from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.frontend.source import span_of

MOST = 30_000
"""The most statements that a round compiles, each counted as often as it is compiled, trials of loops included."""


class TooMuchWork(CompileError):
    """A model of which one round of compiling would compile more than `MOST` statements, or of which each further attempt meets
    something new, without an end. No further attempt is tried."""


class Effort:
    """Counts the statements that one round compiles."""

    def __init__(self) -> None:
        self.count = 0
        self.times: dict[tuple[str, int, int], int] = {}
        self.statements: dict[tuple[str, int, int], ast.stmt] = {}

    def note(self, file: str, s: ast.stmt) -> None:
        """Note that a statement of a file is compiled. Raises TooMuchWork, at the statement that was compiled most often."""
        place = file, s.lineno, s.col_offset
        self.count += 1
        self.times[place] = self.times.get(place, 0) + 1
        self.statements.setdefault(place, s)
        if self.count > MOST:
            most = max(self.times, key=self.times.__getitem__)
            times = f"this is compiled {self.times[most]} times, and no end is in sight"
            what = f"{times}: loops around it, or branches before it, multiply"
            advice = "walk over lists that are made in `forward`, or put what the inner loops do into functions"
            raise TooMuchWork([Problem(span_of(self.statements[most], most[0]), what, advice)])
