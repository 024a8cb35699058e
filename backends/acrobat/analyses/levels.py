"""The first level at which the operands of static work are there, whatever way they come, given the levels of all static work.

`schedule.verifier` asks this about the static depths that a schedule has, however they were found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.engine import Place, Value, analyse
from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Program, Weight
from backends.acrobat.ir.work import is_work

COUNTED = 1 << 30
"""The level of what only a run tells."""
NEVER = -1
"""The level of what no instance ever makes. Work that needs such a value is never done; a list of such values is empty."""


def operand_levels(program: Program, static: Mapping[Place, int]) -> Mapping[Place, int]:
    """(function, variable) of each piece of work in `static` that an instance may come to -> the first level at which all its
    operands are there: 0 from the start, `COUNTED` if only a run tells."""
    levels = _OperandLevelLattice(static)
    analyse(program, levels, call_graph(program), contexts=False)
    return levels.operands


class _OperandLevelLattice:
    """The first level at which a value is there. Work gives the same level in every round of a loop, so nothing rises without
    end and nothing needs to be widened."""

    bottom = NEVER

    def __init__(self, static: Mapping[Place, int]) -> None:
        self._static = static
        self.operands: dict[Place, int] = {}

    def join(self, a: int, b: int) -> int:
        return max(a, b)

    def widen(self, value: int, rises: int) -> int:
        return value

    def instance(self) -> int:
        return 0

    def literal(self, lit: Lit) -> int:
        return 0

    def weight(self, weight: Weight) -> int:
        return 0

    def work(self, node: Op | Launch, args: Sequence[Value[int]], place: Place | None) -> int:
        if any(NEVER in arg and not isinstance(a.type, ListT) for a, arg in zip(node.args, args, strict=True)):
            return NEVER  # no instance comes here: it would need what nothing makes
        there = max((leaf for arg in args for leaf in arg), default=0)
        if not is_work(node):
            return there
        if place is None or place not in self._static:
            return COUNTED
        self.operands[place] = max(there, self.operands.get(place, 0))
        return self._static[place] + 1

    def host(self, node: Host, args: Sequence[int]) -> int:
        return 0

    def item(self, node: Item, tensor: int) -> int:
        return 0  # the number is known when work that uses it is recorded
