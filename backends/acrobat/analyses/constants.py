"""Parameter reuse: which variables always hold one and the same weight, for all instances (paper: taint analysis).

A variable is *shared* if exactly one weight reaches it and nothing else does: a kernel then reads that weight once for the
whole batch. The state of an RNN that starts as a weight is gathered, because later steps put computed tensors into it.

    def scan(w, h, xs): ... scan(w, linear(x, w) + h, rest)       call scan(@W, @start, words)
        w    Origin({W}, constant=True)          shared
        h    Origin({start}, constant=False)     the weight at first, then computed tensors: gathered

Source: the paper's taint analysis for parameter reuse.
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
    """Where a value may come from: from these weights and, unless `constant`, from something that is no weight."""

    weights: frozenset[str]
    constant: bool

    @property
    def shared(self) -> str | None:
        """The name of the one weight that the value always is; None if there is no such weight."""
        return next(iter(self.weights)) if self.constant and len(self.weights) == 1 else None


COMPUTED = Origin(frozenset(), False)
"""The origin of what comes from no weight: results of work, the instance, literals."""


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
    """The origin of each leaf (see `engine`) of every variable and every function's result, in each context."""
    return analyse(program, _OriginLattice(), graph)
