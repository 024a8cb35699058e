"""The lattice of the analyses that ask which named weights or tables a value comes from, and whether from anything else.

Source: our own, for the paper's taint analysis (`constants`) and for `tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.lattice import Place, Value
from backends.acrobat.ir.nodes import Host, Item, Launch, Lit, Op, Weight


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


def only_from(name: str) -> Sources:
    """The sources of the value of this name alone."""
    return Sources(frozenset({name}), False)


class SourceLattice:
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
