"""Whether the facts that code generation relies on are sound, checked on the finished program, however they were found.

Generated code records an operation at the largest depth of its operands, counted as it goes (`codegen.functions`). By
itself that is right for every program, and so is all that only makes work later: ghost operators, the segments of
`analyses.alignment`, and leaving work recorded when calls wait. Two facts let work stand where its operands' counted depths
alone would not put it:

- The depth rule. Work with a static depth is recorded there without a look at its operands. So each operand must be static
  work of a smaller depth, or a weight or a part of the instance; and all counted work begins at `static_levels`, above
  every static depth.
- The phase rule. What an earlier phase computes is taken to be there, whatever its depth, and running on through the
  bindings of the entry function is what brings an instance to the next phase. So each instance runs the entry once: no
  function calls it, itself included. Only bindings of the entry's top level, and of the branches in which it ends, have a
  phase; none has an earlier one than what it uses; and there are as many phases as are told.

Phases that `phase()` marks obey the same rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import is_work
from backends.acrobat.analyses.engine import Place, Value, analyse
from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Expr, Host, If, Item, Launch, Lit, Match, Op, Program, Var, Weight
from backends.acrobat.ir.verifier import VerifyError
from backends.acrobat.ir.visitor import bodies, free_vars, lets

COUNTED = 1 << 30
"""The level of what only a run tells."""
NEVER = -1
"""The level of what nothing makes; only lists can be empty and so do without it."""


def check_facts(
    program: Program, static_depth: Mapping[Place, int], static_levels: int, phase: Mapping[str, int], phases: int
) -> None:
    """Raises VerifyError with each place where the depth rule or the phase rule does not hold: a defect of the compiler, found
    before it can become a wrong number. `static_depth` has the depth of work where it is static, `phase` the phase of
    variables of the entry function; other work is counted, and other bindings go where their operands allow."""
    violations = [*_depth_rule(program, static_depth, static_levels), *_phase_rule(program, phase, phases)]
    if violations:
        raise VerifyError(violations)


class _Levels:
    """The first level at which a value is there, given the static depths: 0 from the start, `COUNTED` if only a run tells. Work
    gives the same level in every round of a loop, so nothing rises without end and nothing needs to be widened."""

    bottom = NEVER

    def __init__(self, static: Mapping[Place, int]) -> None:
        self._static = static
        self.operands: dict[Place, int] = {}
        """Of static work, the first level at which all its operands are there."""

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

    def work(self, node: Op | Launch, args: Sequence[Value[int]], place: Place) -> int:
        if any(NEVER in arg and not isinstance(a.type, ListT) for a, arg in zip(node.args, args, strict=True)):
            return NEVER  # no instance comes here: it would need what nothing makes
        there = max((leaf for arg in args for leaf in arg), default=0)
        if not is_work(node):
            return there
        if place not in self._static:
            return COUNTED
        self.operands[place] = max(there, self.operands.get(place, 0))
        return self._static[place] + 1

    def host(self, node: Host, args: Sequence[int]) -> int:
        return 0

    def item(self, node: Item, tensor: int) -> int:
        return 0  # the number is known when work that uses it is recorded


def _depth_rule(program: Program, static: Mapping[Place, int], static_levels: int) -> Iterator[str]:
    levels = _Levels(static)
    analyse(program, levels, CallGraph(program), contexts=False)
    for place, depth in static.items():
        where = f"{place[0]}: {place[1]} has the static depth {depth}"
        there = levels.operands.get(place)
        if there is None:
            yield f"{where}, but no work of this name is ever done"
        elif there == COUNTED:
            yield f"{where}, but when its operands are there is only known at run time"
        elif there > depth:
            yield f"{where}, but its operands are there from {there} on"
        if not 0 <= depth < static_levels:
            yield f"{where}, but there are {static_levels} static levels"


def _phase_rule(program: Program, phase: Mapping[str, int], phases: int) -> Iterator[str]:
    if phases == 1 and not any(phase.values()):
        return
    for name, callees in CallGraph(program).callees.items():
        if program.entry in callees:
            yield f"{name} calls the entry {program.entry}, which has {phases} phases: an instance would go through them twice"
    placed: dict[str, int] = {}
    yield from _in_order(program.functions[program.entry].body, phase, placed)
    for name, number in phase.items():
        if name not in placed:
            yield f"{program.entry}: {name} has phase {number}, but is bound neither at the top level nor where the entry ends"
        if not 0 <= number < phases:
            yield f"{program.entry}: {name} has phase {number} of {phases}"


def _in_order(expr: Expr, phase: Mapping[str, int], placed: dict[str, int]) -> Iterator[str]:
    """`placed` gets the phase of each binding: of one that has none, the latest of what it uses."""

    def latest(expr: Expr) -> int:
        return max((placed.get(name, 0) for name in free_vars(expr)), default=0)

    bindings, tail = lets(expr)
    for var, value in bindings:
        needs = latest(value)
        placed[var.name] = phase.get(var.name, needs)
        if placed[var.name] < needs:
            yield f"the entry: {var.name} has phase {placed[var.name]}, but uses what phase {needs} computes"
    if isinstance(tail, Match):
        taken = latest(tail.value) if isinstance(tail.value, Var) else 0
        placed.update((var.name, taken) for arm in tail.arms for var in arm.vars)
    if isinstance(tail, If | Match):
        for body in bodies(tail):
            yield from _in_order(body, phase, placed)
