"""What passes ask about the variables of a function: what each is bound to, how often it is used, in which loop it is bound.

Source: our own.
"""

from __future__ import annotations

from collections import Counter

from backends.acrobat.ir.nodes import Expr, Fold, Function, Loop, Map, Var
from backends.acrobat.ir.visitor import bodies, lets, operands


class Variables:
    """The variables bound by the lets of a function in normal form. A pass has to enter what it adds (`bind`, `use`)."""

    def __init__(self, function: Function) -> None:
        self._values: dict[str, Expr] = {}
        self._uses: Counter[str] = Counter()
        self._loops: dict[str, int] = {}  # the `id` of the loop in whose body a variable is bound; 0 for none
        self._scan(function.body, 0)

    def _scan(self, expr: Expr, loop: int) -> None:
        bindings, tail = lets(expr)
        for var, value in bindings:
            self._values[var.name] = value
            self._loops[var.name] = loop
        for value in (*(value for _, value in bindings), tail):
            for atom in operands(value):
                self.use(atom)
            for body in bodies(value):
                self._scan(body, id(value) if isinstance(value, Map | Fold | Loop) else loop)

    def value(self, atom: object) -> Expr | None:
        """The value that a let binds the variable to; None for atoms that no let binds (parameters, items, literals)."""
        return self._values.get(atom.name) if isinstance(atom, Var) else None

    def bind(self, var: Var, value: Expr) -> None:
        self._values[var.name] = value

    def use(self, atom: Expr, times: int = 1) -> None:
        if isinstance(atom, Var):
            self._uses[atom.name] += times

    def uses(self, var: Var) -> int:
        """In how many places the variable is an operand or the end of a let chain."""
        return self._uses[var.name]

    def equally_often(self, a: Var, b: Var) -> bool:
        """Whether two variables are bound in the body of the same loop, or both in none, and so equally often."""
        return self._loops.get(a.name) == self._loops.get(b.name)
