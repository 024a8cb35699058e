"""A check of static depths: the first level at which all operands of a piece of static work can be used, whichever way they
come.

It follows from the static depths of all work, however these were found; `schedule.verifier` demands that no work is earlier.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.engine import analyse
from backends.acrobat.analyses.lattice import Place, Value
from backends.acrobat.analyses.level_lattice import NEVER, LevelLattice
from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Launch, Op, Program
from backends.acrobat.ir.work import is_work

COUNTED = 1 << 30
"""The level of a value whose depth is counted at run time."""


def operand_levels(program: Program, static: Mapping[Place, int]) -> Mapping[Place, int]:
    """(function, variable) of each piece of work in `static` that an instance may come to -> the first level at which all its
    operands can be used: 0 is the start, `COUNTED` means that only a run tells. `static`: the static depths of all work."""
    levels = _OperandLevelLattice(static)
    analyse(program, levels, call_graph(program), contexts=False)
    return levels.operands


class _OperandLevelLattice(LevelLattice):
    """The first level at which a value can be used. The level of a result depends on `static` alone, not on the operands, so no
    value rises for ever and none needs to be widened."""

    def __init__(self, static: Mapping[Place, int]) -> None:
        self._static = static
        self.operands: dict[Place, int] = {}

    def widen(self, value: int, rises: int) -> int:
        return value

    def work(self, node: Op | Launch, args: Sequence[Value[int]], place: Place | None) -> int:
        if any(NEVER in arg and not isinstance(a.type, ListT) for a, arg in zip(node.args, args, strict=True)):
            return NEVER  # an operand is never computed, so no instance comes here
        available = max((leaf for arg in args for leaf in arg), default=0)
        if not is_work(node):
            return available
        if place is None or place not in self._static:
            return COUNTED
        self.operands[place] = max(available, self.operands.get(place, 0))
        return self._static[place] + 1
