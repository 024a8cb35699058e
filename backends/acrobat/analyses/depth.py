"""Static depth: how many levels of tensor work lie below a value, where the program alone tells (paper: operator hoisting).

Work is static if its operands depend on no result of a recursion or loop that grows with it: an instance's tensors and the
weights are at 0, the result of work is one level above its deepest operand. All other work has a dynamic depth, counted at run
time from `StaticDepths.base` on, so it always comes after everything static. A counter that restarts, after a wait or at a
phase, restarts there and not at 0.

Each piece of work has one depth in all contexts, and its users see that one: contexts are joined before depths are added up. A
`Map`'s elements are analysed once, so depth does not grow along a list. Control dependence has no part in depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Place, Solution, Value, analyse
from backends.acrobat.analyses.once import once
from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Atom, Host, Item, Launch, Let, Lit, Op, Program, Weight
from backends.acrobat.ir.visitor import walk
from backends.acrobat.ir.work import is_work

DYNAMIC = 1 << 30
"""The depth that only a run tells."""
UNREACHED = -1
RISES = 16
"""A depth that has risen this often around a loop or recursion is taken to grow with it."""


class _DepthLattice:
    bottom = UNREACHED

    def join(self, a: int, b: int) -> int:
        return max(a, b)

    def widen(self, value: int, rises: int) -> int:
        return DYNAMIC if rises > RISES else value

    def instance(self) -> int:
        return 0

    def literal(self, lit: Lit) -> int:
        return 0

    def weight(self, weight: Weight) -> int:
        return 0

    def work(self, node: Op | Launch, args: Sequence[Value[int]], place: Place | None) -> int:
        depth = _incoming(node.args, args)
        if depth == UNREACHED:
            return UNREACHED
        if not is_work(node):
            return depth
        return DYNAMIC if depth == DYNAMIC or place is None else depth + 1

    def host(self, node: Host, args: Sequence[int]) -> int:
        return 0

    def item(self, node: Item, tensor: int) -> int:
        return 0  # the number is known when work that uses it is recorded


def _incoming(atoms: Sequence[Atom], values: Sequence[Value[int]]) -> int:
    """The depth at which work with these operands stands: the largest of theirs. It is `UNREACHED` if one of them never has a
    value, because no instance comes there; a list whose items never have a value is empty, and at hand from the start."""
    depth = 0
    for atom, value in zip(atoms, values, strict=True):
        if UNREACHED in value and not isinstance(atom.type, ListT):
            return UNREACHED
        depth = max(depth, *value)
    return depth


@dataclass(frozen=True)
class StaticDepths:
    """`depths`: (function, variable that the Op or Launch is bound to) -> its depth; what is missing is dynamic.
    `max_static` is the deepest of them, or -1."""

    depths: Mapping[tuple[str, str], int]
    max_static: int
    values: Mapping[str, Mapping[str, Value[int]]]

    @property
    def base(self) -> int:
        """Where dynamic depths start."""
        return self.max_static + 1

    def dynamic(self, function: str, name: str) -> bool:
        """Whether the variable holds anything computed at a dynamic depth."""
        return DYNAMIC in self.values.get(function, {}).get(name, (DYNAMIC,))


@once
def static_depths(program: Program, graph: CallGraph) -> StaticDepths:
    """The static depth of all work bound to a variable, before fusion (Op) or after (Launch: one level each)."""
    facts: Solution[int] = analyse(program, _DepthLattice(), graph, contexts=False)
    values = {name: facts.merged(name) for name in program.functions}
    depths = {}
    for name, function in program.functions.items():
        for node in walk(function.body):
            if isinstance(node, Let) and isinstance(node.value, Op | Launch) and node.var.name in values[name]:
                result = values[name][node.var.name][0]
                if is_work(node.value) and result not in (DYNAMIC, UNREACHED):
                    depths[name, node.var.name] = result - 1
    return StaticDepths(depths, max(depths.values(), default=-1), values)
