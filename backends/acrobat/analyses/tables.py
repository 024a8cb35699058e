"""Rows of tables: which tensors are always a row of one and the same weight (an embedding), whichever row it is. The pass
`tables` replaces products of such tensors by lookups.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import analyse
from backends.acrobat.analyses.lattice import Place, Value
from backends.acrobat.analyses.once import once
from backends.acrobat.analyses.sources import OTHER, SourceLattice, Sources, only_from
from backends.acrobat.ir.nodes import Launch, Op, Program, Weight


class _RowLattice(SourceLattice):
    """A row of a table comes from that table, everything else from no table."""

    def work(self, node: Op | Launch, args: Sequence[Value[Sources]], place: Place | None) -> Sources:
        if isinstance(node, Op) and node.op == "row" and isinstance(node.args[0], Weight):
            return only_from(node.args[0].name)
        return OTHER


@once
def table_rows(program: Program, graph: CallGraph) -> Mapping[str, Mapping[str, str]]:
    """function -> variable of tensor type -> the table that its value is a row of in all contexts, if there is one."""
    facts = analyse(program, _RowLattice(), graph)
    return {
        name: {var: value[0].only for var, value in facts.values_in(name).items() if len(value) == 1 and value[0].only}
        for name in program.functions
    }
