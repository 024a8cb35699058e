"""Parameter reuse: which variables always hold one and the same weight, for all instances (paper: taint analysis).

A variable is *shared* if exactly one weight reaches it and nothing else does: a kernel then reads that weight once for the
whole batch. The state of an RNN that starts as a weight is gathered, because later steps put computed tensors into it.

    def scan(w, h, xs): ... scan(w, linear(x, w) + h, rest)       call scan(@W, @start, words)
        w    Sources({W}, other=False)            shared
        h    Sources({start}, other=True)         the weight at first, then computed tensors: gathered

Source: the paper's taint analysis for parameter reuse.
"""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Solution, analyse
from backends.acrobat.analyses.once import once
from backends.acrobat.analyses.sources import SourceLattice, Sources, only_from
from backends.acrobat.ir.nodes import Program, Weight


class _WeightLattice(SourceLattice):
    """A weight comes from itself, everything else from no weight."""

    def weight(self, weight: Weight) -> Sources:
        return only_from(weight.name)


@once
def weight_sources(program: Program, graph: CallGraph) -> Solution[Sources]:
    """The weights that may reach each leaf (see `lattice.py`) of every variable and every function's result, in each context.
    Results of work, the instance and literals come from no weight."""
    return analyse(program, _WeightLattice(), graph)
