"""The lattice of the analyses that ask from which level on a value can be used.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Sequence

from backends.acrobat.ir.nodes import Host, Item, Lit, Weight

NEVER = -1
"""The level of what no instance ever computes. Work that needs such a value is never done; a list of such values is empty."""


class LevelLattice:
    """Of several levels the largest counts. Whatever is no work can be used from level 0 on; a subclass says when work can."""

    bottom = NEVER

    def join(self, a: int, b: int) -> int:
        return max(a, b)

    def instance(self) -> int:
        return 0

    def literal(self, lit: Lit) -> int:
        return 0

    def weight(self, weight: Weight) -> int:
        return 0

    def host(self, node: Host, args: Sequence[int]) -> int:
        return 0

    def item(self, node: Item, tensor: int) -> int:
        return 0  # the number is known when work that uses it is recorded
