"""Builds one let chain of the core IR, binding by binding."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import ListT, ScalarT
from backends.acrobat.frontend.values import Dyn
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.renaming import Names, substitute
from backends.acrobat.ir.visitor import free_vars, from_lets

NEW = (Fusion.ELEMENTWISE, Fusion.PRODUCT, Fusion.REDUCTION, Fusion.CONSTANT)
"""The fusion kinds of operations whose result, in eager PyTorch, shares no memory with an operand."""


class Builder:
    """A let chain under construction.

    A change in place gives a tensor a new variable. `instead` maps each variable that held the tensor to the new one, which
    replaces it in all later expressions. Only tensors whose variables are in `fresh` may be changed: tensors made in this chain
    that are not part of another value and have no view, and that no function or other chain has got. A variable may stand in
    several types, such as a list and the tensor of its rows; what replaces it does so too.
    """

    def __init__(self, names: Names, instead: Mapping[str, n.Atom] | None = None) -> None:
        self.names = names
        self.bindings: list[tuple[n.Var, n.Expr]] = []
        self.fresh: set[str] = set()
        self.filled: dict[str, float] = {}  # variable of a tensor all of whose elements are one constant -> that constant
        self.ranges: dict[str, range] = {}  # variable of a list of ints -> the range of constants that it is
        self.offsets: dict[str, tuple[str, int]] = {}  # variable of an int -> another variable, and what is added to that one
        self.sums: dict[str, tuple[n.Atom, n.Atom]] = {}  # variable of an int that is a sum -> what is added
        self.divisors: dict[str, int] = {}  # variable of an int that is another one divided by a constant -> that constant
        self.instead: dict[str, n.Atom] = dict(instead or {})
        self.tried: Builder | None = None  # the chain with which this one tries to go on
        self.begun_with: set[str] = set()  # the variables of what a loop carries, if this is a round of one

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        """Add a binding of `expr` to a new variable, which is named after `hint`; operands are returned without a binding."""
        expr = substitute(expr, self.instead, _of_type)
        if isinstance(expr, (n.Var, n.Lit, n.Weight)):
            return Dyn(expr)
        var = n.Var(self.names.fresh(hint), expr.type, span=expr.span)
        self.bindings.append((var, expr))
        if isinstance(expr, n.Op) and expr.op == "full":
            self.filled[var.name] = float(dict(expr.attrs)["value"])
        if isinstance(expr, n.Host) and expr.op in ("add", "sub"):
            self._note_offset(var, expr)
        if isinstance(expr, n.Host) and expr.op == "add":
            self.sums[var.name] = expr.args[0], expr.args[1]
        if isinstance(expr, n.Host) and expr.op == "floordiv" and isinstance(by := expr.args[1], n.Lit):
            self.divisors[var.name] = int(by.value)
        if isinstance(expr, n.Host) and expr.op == "range" and all(isinstance(a, n.Lit) and a.value for a in expr.args[2:]):
            self._note_range(var, expr)
        if isinstance(expr, n.Op) and (OPS[expr.op].fusion in NEW or expr.op in ("cat", "stack", "scalar")):
            self.fresh.add(var.name)
        elif self.fresh and not isinstance(expr, n.Item) and not _is_host_number(expr):
            self.fresh -= free_vars(expr)
        return Dyn(var)

    def _note_offset(self, var: n.Var, expr: n.Host) -> None:
        """Note that `var` is the sum of another int and a constant, if `expr` says so."""
        match expr.op, expr.args:
            case ("add", (n.Var(name), n.Lit(int() as more))) | ("add", (n.Lit(int() as more), n.Var(name))):
                pass
            case "sub", (n.Var(name), n.Lit(int() as less)):
                more = -less
            case _:
                return
        base, before = self.offsets.get(name, (name, 0))
        self.offsets[var.name] = base, before + more

    def _note_range(self, var: n.Var, expr: n.Host) -> None:
        """Note the ints of a range whose bounds and step are constants."""
        bounds = [a.value for a in expr.args if isinstance(a, n.Lit) and isinstance(a.value, int)]
        if len(bounds) == 3:
            self.ranges[var.name] = range(*bounds)

    def current(self, atom: n.Atom) -> n.Atom:
        """The operand with the present value of `atom`, after all changes in place."""
        return _of_type(self.instead.get(atom.name, atom), atom) if isinstance(atom, n.Var) else atom

    def all_current(self, variables: Set[str]) -> set[str]:
        """The names of the variables that hold the present values of variables, after all changes in place."""
        return {getattr(self.instead.get(name), "name", name) for name in variables}

    def has_bound(self, variable: str, since: int = 0) -> bool:
        """Whether this chain binds a variable, behind its first `since` bindings."""
        return any(var.name == variable for var, _ in self.bindings[since:])

    def has_made(self, variable: str) -> bool:
        """Whether this chain binds a variable or begins with it, or the chain does that it tries to go on with."""
        if variable in self.begun_with or self.has_bound(variable):
            return True
        return self.tried is not None and self.tried.has_made(variable)

    def change(self, before: n.Var, after: n.Var) -> None:
        """Note that the tensor of `before`, a variable in `fresh`, was changed in place and is now `after`."""
        self.fresh.discard(before.name)
        self.instead = {k: after if v == before else v for k, v in self.instead.items()} | {before.name: after}

    def trial(self) -> Builder:
        """A chain in which is tried what would follow in this one."""
        further = self.inner()
        further.tried, further.fresh = self, set(self.fresh)
        return further

    def inner(self) -> Builder:
        inner = Builder(self.names, self.instead)
        inner.filled, inner.ranges, inner.offsets = dict(self.filled), dict(self.ranges), dict(self.offsets)
        inner.sums, inner.divisors = dict(self.sums), dict(self.divisors)
        return inner

    def finish(self, result: n.Expr) -> n.Expr:
        return from_lets(self.bindings, result)


def _is_host_number(expr: n.Expr) -> bool:
    """Whether an expression gives a number that the host computes, such as an extent: no view of an operand."""
    return isinstance(expr, n.Host) and isinstance(expr.type, ScalarT)


def _of_type(after: n.Atom, before: n.Var) -> n.Atom:
    """What replaces a variable, in the type in which that stands: a tensor of rows may stand as the list that it is."""
    if isinstance(after, n.Var) and isinstance(before.type, ListT) and after.type != before.type:
        return replace(after, type=before.type)
    return after
