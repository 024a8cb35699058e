"""A straight piece of the program under construction."""

from __future__ import annotations

from collections.abc import Mapping

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.frontend.values import Dyn
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Names, free_vars, from_lets, substitute

NEW = (Fusion.ELEMENTWISE, Fusion.PRODUCT, Fusion.REDUCTION, Fusion.CONSTANT)
"""Operations whose result shares no memory with an operand (in eager PyTorch)."""


class Builder:
    """A chain of lets under construction.

    A tensor that was changed in place is another variable from there on, under whatever name or in whatever expression it
    is held: `instead` says which. That can be done to tensors in `fresh`: made in this chain, and neither part of a value
    nor seen through a view, an argument or another chain.
    """

    def __init__(self, names: Names, instead: Mapping[str, n.Atom] | None = None) -> None:
        self.names = names
        self.bindings: list[tuple[n.Var, n.Expr]] = []
        self.fresh: set[str] = set()
        self.instead: dict[str, n.Atom] = dict(instead or {})

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        expr = substitute(expr, self.instead)
        if isinstance(expr, (n.Var, n.Lit, n.Weight)):
            return Dyn(expr)
        var = n.Var(self.names.fresh(hint), expr.type, span=expr.span)
        self.bindings.append((var, expr))
        if isinstance(expr, n.Op) and (OPS[expr.op].fusion in NEW or expr.op in ("cat", "stack", "scalar")):
            self.fresh.add(var.name)
        elif self.fresh and not isinstance(expr, n.Item):
            self.fresh -= free_vars(expr)
        return Dyn(var)

    def now(self, atom: n.Atom) -> n.Atom:
        """What an operand is after all that was changed in place."""
        return self.instead.get(atom.name, atom) if isinstance(atom, n.Var) else atom

    def change(self, before: n.Var, after: n.Var) -> None:
        """The fresh tensor `before` was changed in place, to `after`."""
        self.fresh.discard(before.name)
        self.instead = {k: after if v == before else v for k, v in self.instead.items()} | {before.name: after}

    def inner(self) -> Builder:
        return Builder(self.names, self.instead)

    def finish(self, result: n.Expr) -> n.Expr:
        return from_lets(self.bindings, result)
