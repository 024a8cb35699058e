"""Expressions that differ at most in the names they bind.

Source: our own.
"""

from __future__ import annotations

from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.renaming import Names, rename
from backends.acrobat.ir.visitor import bodies, flat, free_vars


def same(a: n.Expr, b: n.Expr) -> bool:
    """Whether two expressions differ at most in the names they bind."""
    return up_to_names(a) == up_to_names(b)


def up_to_names(expr: n.Expr) -> object:
    """A hashable value that is equal for two expressions exactly if they differ at most in the names they bind."""
    if not bodies(expr):
        return expr  # binds none
    free = free_vars(expr)
    return free, flat(rename(expr, _Numbers(free)))


class _Numbers(Names):
    """Gives every variable a number for a name."""

    def fresh(self, name: str) -> str:
        return super().fresh("v")
