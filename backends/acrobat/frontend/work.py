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


MOST_JOINED = 100_000
"""The most times that a round looks for the type that values of several types have in common. Types that are inside of each
other in ever more ways would keep it busy, too."""


class TooMuchWork(CompileError):
    """A model of which one round of compiling would compile more than `MOST` statements, or join types more often than
    `MOST_JOINED`, or of which each further attempt meets something new, without an end. No further attempt is tried."""


class Effort:
    """Counts the statements that one round compiles."""

    def __init__(self) -> None:
        self.count = self.joined = 0
        self.last: tuple[str, ast.stmt] | None = None
        self.times: dict[tuple[str, int, int], int] = {}
        self.statements: dict[tuple[str, int, int], ast.stmt] = {}

    def note(self, file: str, s: ast.stmt) -> None:
        """Note that a statement of a file is compiled. Raises TooMuchWork, at the statement that was compiled most often."""
        place = file, s.lineno, s.col_offset
        self.count += 1
        self.last = file, s
        self.times[place] = self.times.get(place, 0) + 1
        self.statements.setdefault(place, s)
        if self.count > MOST:
            most = max(self.times, key=self.times.__getitem__)
            times = f"this is compiled {self.times[most]} times, and no end is in sight"
            what = f"{times}: loops around it, or branches before it, multiply"
            advice = "walk over lists that are made in `forward`, or put what the inner loops do into functions"
            raise TooMuchWork([Problem(span_of(self.statements[most], most[0]), what, advice)])

    def note_joined(self) -> None:
        """Note that types are joined. Raises TooMuchWork, at the statement that is compiled now."""
        self.joined += 1
        if self.joined > MOST_JOINED and self.last is not None:
            file, s = self.last
            what = "the values here may be of types that are inside of each other in ever more ways, and no end is in sight"
            raise TooMuchWork(
                [Problem(span_of(s, file), what, "make objects of classes of your own, one for each kind of node")]
            )
