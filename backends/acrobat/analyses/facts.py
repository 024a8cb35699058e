"""What the analyses of a finished program hand to its schedule.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backends.acrobat.analyses.alignment import Alignment
from backends.acrobat.ir.nodes import Call, Expr, Item


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """The facts that the schedule depends on."""

    static_depth: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (function, variable) -> depth
    static_levels: int = 0  # one more than the largest static depth
    phase: Mapping[str, int] = field(default_factory=dict)  # variable of the entry function -> its phase
    phases: int = 1
    waits: frozenset[str] = frozenset()  # functions that may wait
    recursive: frozenset[str] = frozenset()
    alignment: Alignment = field(default_factory=Alignment)

    def waits_itself(self, expr: Expr) -> bool:
        """Whether the node itself may wait, whatever its bodies do."""
        return isinstance(expr, Item) or isinstance(expr, Call) and expr.function in self.waits
