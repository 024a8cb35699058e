"""Static depth: the level of tensor work, where the program alone tells it (paper: operator hoisting, an addition to inline
depth computation). Work with a static depth batches across all instances, wherever in a tree or sentence it stands.

    def encode(tree)
      Leaf(word):      x = row(@E, word)                            an address, no work
                       p = linear(x, @W)                            static depth 0
                       h = tanh(p)                                  static depth 1
      Node(children):  s = list_sum([encode(c) for c in children])  dynamic (uses the recursion's results), counted from base 2

Work is static if the depth of its operands does not grow from call to call of a recursion, nor from round to round of a loop.
An instance's tensors and the weights can be used at depth 0, the result of work one level after that work. All other work is
dynamic: its depth is counted at run time from `StaticDepths.base`, which is after all static work. Where counting begins anew,
after a wait or in a new phase, it begins at that base too and not at 0.

Each piece of work has one depth, whichever calls lead to it: call sites are joined before depths are added up. All elements of
a `Map` have one depth, so depth does not grow along its list. The conditions of branches and loops have no part in depth.

Source: the paper's operator hoisting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Solution, analyse
from backends.acrobat.analyses.lattice import Place, Value
from backends.acrobat.analyses.level_lattice import NEVER, LevelLattice
from backends.acrobat.analyses.once import once
from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Atom, Launch, Let, Op, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.ir.work import is_work

DYNAMIC = 1 << 30
"""The depth of what has no static depth."""
RISES = 16
"""A depth that has risen this often around a loop or recursion is taken to rise in every round: it becomes `DYNAMIC`."""


class _DepthLattice(LevelLattice):
    """The depth from which a value can be used."""

    def widen(self, value: int, rises: int) -> int:
        return DYNAMIC if rises > RISES else value

    def work(self, node: Op | Launch, args: Sequence[Value[int]], place: Place | None) -> int:
        depth = _incoming(node.args, args)
        if depth == NEVER:
            return NEVER
        if not is_work(node):
            return depth
        return DYNAMIC if depth == DYNAMIC or place is None else depth + 1


def _incoming(atoms: Sequence[Atom], values: Sequence[Value[int]]) -> int:
    """The depth of work with these operands: the largest of theirs. It is `NEVER` if an operand never has a value, because
    no instance comes there. Only a list may have items without a value: it is always empty, and can be used at depth 0."""
    depth = 0
    for atom, value in zip(atoms, values, strict=True):
        if NEVER in value and not isinstance(atom.type, ListT):
            return NEVER
        depth = max(depth, *value)
    return depth


@dataclass(frozen=True)
class StaticDepths:
    """`depths`: (function, variable that the Op or Launch is bound to) -> the depth of that work; work that is missing there is
    dynamic. `max_static`: the largest of these depths, or -1 without any. `values`: function -> variable -> for each leaf of
    its value (see `lattice.py`) the depth from which it can be used."""

    depths: Mapping[tuple[str, str], int]
    max_static: int
    values: Mapping[str, Mapping[str, Value[int]]]

    @property
    def base(self) -> int:
        """Where dynamic depths start."""
        return self.max_static + 1

    def dynamic(self, function: str, name: str) -> bool:
        """Whether the variable holds, perhaps among others, a tensor of a dynamic depth."""
        return DYNAMIC in self.values.get(function, {}).get(name, (DYNAMIC,))


@once
def static_depths(program: Program, graph: CallGraph) -> StaticDepths:
    """The static depth of all work bound to a variable, before fusion (a level for each Op) or after it (for each Launch)."""
    facts: Solution[int] = analyse(program, _DepthLattice(), graph, contexts=False)
    values = {name: facts.values_in(name) for name in program.functions}
    depths = {}
    for name, function in program.functions.items():
        for node in walk(function.body):
            if isinstance(node, Let) and isinstance(node.value, Op | Launch) and node.var.name in values[name]:
                result = values[name][node.var.name][0]
                if is_work(node.value) and result not in (DYNAMIC, NEVER):
                    depths[name, node.var.name] = result - 1
    return StaticDepths(depths, max(depths.values(), default=-1), values)
