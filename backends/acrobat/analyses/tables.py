"""Rows of tables: which tensors are always a row of one and the same weight (an embedding), whichever row it is. The pass
`tables` replaces products of such tensors by lookups.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.engine import Place, Value, analyse
from backends.acrobat.analyses.once import once
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Program, Weight


@dataclass(frozen=True, slots=True)
class TableRows:
    """What may reach a value: rows of these tables and, if `other`, something else."""

    tables: frozenset[str]
    other: bool

    @property
    def table(self) -> str | None:
        """The name of the one table that the value always is a row of; None if there is no such table."""
        return next(iter(self.tables)) if len(self.tables) == 1 and not self.other else None


OTHER = TableRows(frozenset(), True)


class _RowLattice:
    bottom = TableRows(frozenset(), False)

    def join(self, a: TableRows, b: TableRows) -> TableRows:
        return TableRows(a.tables | b.tables, a.other or b.other)

    def widen(self, value: TableRows, rises: int) -> TableRows:
        return value

    def instance(self) -> TableRows:
        return OTHER

    def literal(self, lit: Lit) -> TableRows:
        return OTHER

    def weight(self, weight: Weight) -> TableRows:
        return OTHER

    def work(self, node: Op | Launch, args: Sequence[Value[TableRows]], place: Place | None) -> TableRows:
        if isinstance(node, Op) and node.op == "row" and isinstance(node.args[0], Weight):
            return TableRows(frozenset({node.args[0].name}), False)
        return OTHER

    def host(self, node: Host, args: Sequence[TableRows]) -> TableRows:
        return OTHER

    def item(self, node: Item, tensor: TableRows) -> TableRows:
        return OTHER


@once
def table_rows(program: Program, graph: CallGraph) -> Mapping[str, Mapping[str, str]]:
    """function -> variable of tensor type -> the table that its value is a row of in all contexts, if there is one."""
    facts = analyse(program, _RowLattice(), graph)
    return {
        name: {var: value[0].table for var, value in facts.merged(name).items() if len(value) == 1 and value[0].table}
        for name in program.functions
    }
