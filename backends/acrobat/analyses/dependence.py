"""Data dependence inside one let chain: which bindings need which others, directly or through further bindings.

Binding b depends on binding a if a's variable occurs free anywhere in b's value, also inside an arm or a loop body. The
language is pure, so nothing else orders two bindings. A branch or loop counts as one binding, whatever is inside it.

Source: our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backends.acrobat.ir.nodes import Expr, Var
from backends.acrobat.ir.visitor import free_vars


class Dependence:
    """Facts about `bindings`, (variable, value) pairs in let order, named by their positions. Bit i of a mask is binding i."""

    def __init__(self, bindings: Sequence[tuple[Var, Expr]]) -> None:
        position: dict[str, int] = {}
        self._direct: list[frozenset[int]] = []
        self._before: list[int] = []
        for i, (var, value) in enumerate(bindings):
            direct = frozenset(position[name] for name in free_vars(value) if name in position)
            before = 0
            for j in direct:
                before |= self._before[j] | 1 << j
            self._direct.append(direct)
            self._before.append(before)
            position[var.name] = i
        self._after = [0] * len(bindings)
        for i in reversed(range(len(bindings))):
            for j in self._direct[i]:
                self._after[j] |= self._after[i] | 1 << i

    def direct(self, i: int) -> frozenset[int]:
        """The bindings whose variables occur in the value of binding `i`."""
        return self._direct[i]

    def before(self, i: int) -> int:
        """Bit mask of all bindings that binding `i` depends on, directly or not."""
        return self._before[i]

    def after(self, i: int) -> int:
        """Bit mask of all bindings that depend on binding `i`, directly or not."""
        return self._after[i]

    def independent(self, group: Iterable[int]) -> bool:
        """Whether no binding of `group` depends on another one, so that they may become one operation."""
        members = list(group)
        mask = sum(1 << i for i in set(members))
        return not any(self._before[i] & mask for i in members)
