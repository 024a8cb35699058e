"""Which weights, or which rows of tables, a value comes from, and whether from anything else.

*Parameter reuse* (paper: taint analysis): a variable is *shared* if exactly one weight reaches it and nothing else does: a
kernel then reads that weight once for the whole batch. The state of an RNN that starts as a weight is gathered, because later
steps put computed tensors into it.

    def scan(w, h, xs): ... scan(w, linear(x, w) + h, rest)       call scan(@W, @start, words)
        w    Sources({W}, other=False)            shared
        h    Sources({start}, other=True)         the weight at first, then computed tensors: gathered

*Rows of tables*: a tensor that is always a row of one and the same weight (an embedding), whichever row it is. The pass
`tables` replaces products of such tensors by lookups.

Source: the paper's taint analysis for parameter reuse; the rows of tables are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Solution, analyse
from backends.acrobat.analyses.lattice import Place, Value
from backends.acrobat.analyses.once import once
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Program, Weight


@dataclass(frozen=True, slots=True)
class Sources:
    """What may reach a value: what has one of these names and, if `other`, something without a name."""

    names: frozenset[str]
    other: bool

    @property
    def only(self) -> str | None:
        """The one name that the value always comes from; None if there is no such name."""
        return next(iter(self.names)) if len(self.names) == 1 and not self.other else None


OTHER = Sources(frozenset(), True)


class _SourceLattice:
    """Nothing has a name; a subclass says what has one."""

    bottom = Sources(frozenset(), False)

    def join(self, a: Sources, b: Sources) -> Sources:
        return Sources(a.names | b.names, a.other or b.other)

    def widen(self, value: Sources, rises: int) -> Sources:
        return value

    def instance(self) -> Sources:
        return OTHER

    def literal(self, lit: Lit) -> Sources:
        return OTHER

    def weight(self, weight: Weight) -> Sources:
        return OTHER

    def work(self, node: Op | Launch, args: Sequence[Value[Sources]], place: Place | None) -> Sources:
        return OTHER

    def host(self, node: Host, args: Sequence[Sources]) -> Sources:
        return OTHER

    def item(self, node: Item, tensor: Sources) -> Sources:
        return OTHER


class _WeightLattice(_SourceLattice):
    """A weight comes from itself, everything else from no weight."""

    def weight(self, weight: Weight) -> Sources:
        return Sources(frozenset({weight.name}), False)


class _RowLattice(_SourceLattice):
    """A row of a table comes from that table, everything else from no table."""

    def work(self, node: Op | Launch, args: Sequence[Value[Sources]], place: Place | None) -> Sources:
        if isinstance(node, Op) and node.op == "row" and isinstance(node.args[0], Weight):
            return Sources(frozenset({node.args[0].name}), False)
        return OTHER


@once
def weight_sources(program: Program, graph: CallGraph) -> Solution[Sources]:
    """The weights that may reach each leaf (see `lattice.py`) of every variable and every function's result, in each context.
    Results of work, the instance and literals come from no weight."""
    return analyse(program, _WeightLattice(), graph)


@once
def table_rows(program: Program, graph: CallGraph) -> Mapping[str, Mapping[str, str]]:
    """function -> variable of tensor type -> the table that its value is a row of in all contexts, if there is one."""
    facts = analyse(program, _RowLattice(), graph)
    return {
        name: {var: value[0].only for var, value in facts.values_in(name).items() if len(value) == 1 and value[0].only}
        for name in program.functions
    }
