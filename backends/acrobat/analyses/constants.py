"""Parameter reuse: which values are one and the same weight, for all instances and always (paper: taint analysis).

A value is *shared* where exactly one weight reaches it and nothing else does. The BiRNN's initial state is a weight, but a
later step replaces it by what it computed: its variable holds the one weight or something else, so it is gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Place, Solution, Value, analyse
from backends.acrobat.analyses.once import once
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Program, Weight


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value may come from: these weights and, unless `constant`, something else."""

    weights: frozenset[str]
    constant: bool

    @property
    def shared(self) -> str | None:
        """The weight that the value always is."""
        return next(iter(self.weights)) if self.constant and len(self.weights) == 1 else None


COMPUTED = Origin(frozenset(), False)


class _OriginLattice:
    bottom = Origin(frozenset(), True)

    def join(self, a: Origin, b: Origin) -> Origin:
        return Origin(a.weights | b.weights, a.constant and b.constant)

    def widen(self, value: Origin, rises: int) -> Origin:
        return value

    def instance(self) -> Origin:
        return COMPUTED

    def literal(self, lit: Lit) -> Origin:
        return COMPUTED

    def weight(self, weight: Weight) -> Origin:
        return Origin(frozenset({weight.name}), True)

    def work(self, node: Op | Launch, args: Sequence[Value[Origin]], place: Place | None) -> Origin:
        return COMPUTED

    def host(self, node: Host, args: Sequence[Origin]) -> Origin:
        return COMPUTED

    def item(self, node: Item, tensor: Origin) -> Origin:
        return COMPUTED


@once
def origins(program: Program, graph: CallGraph) -> Solution[Origin]:
    """The origin of every variable's and result's leaves, in each context."""
    return analyse(program, _OriginLattice(), graph)
