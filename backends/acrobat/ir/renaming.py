"""Gives variables of expressions other names, or puts atoms in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import cast

from backends.acrobat.ir.nodes import Arm, Atom, Expr, Fold, Function, Let, Lit, Loop, Map, Match, Var, Weight
from backends.acrobat.ir.visitor import binders, from_lets, lets, map_children, operands, walk, with_operands


def substitute(expr: Expr, to: Mapping[str, Atom], adapt: Callable[[Atom, Var], Atom] | None = None) -> Expr:
    """`expr` with free variables replaced, each by what `adapt` makes of the atom in its place and the variable. Relies on
    single binding: nothing inside rebinds them."""
    if not to:
        return expr

    def visit(e: Expr) -> Expr:
        if isinstance(e, Var):
            atom = to.get(e.name, e)
            return atom if adapt is None or atom is e else adapt(atom, e)
        if isinstance(e, (Lit, Weight)):
            return e
        return map_children(e, visit)

    return visit(expr)


class Names:
    """A supply of names not used before: `x` gives `x`, `x_1`, `x_2`, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self._last: dict[str, int] = {}  # name without number -> the last number given to it, from which counting goes on

    def fresh(self, name: str) -> str:
        base, _, tail = name.rpartition("_")
        base = base if base and tail.isdigit() else name
        text, n = name, self._last.get(base, 0)
        if f"{base}_{n}" not in self.taken:  # `taken` may have been reset to fewer names
            n = 0
        while text in self.taken:
            n += 1
            text = f"{base}_{n}"
            self._last[base] = n
        self.taken.add(text)
        return text


def names_of(function: Function) -> set[str]:
    """All variables of a function."""
    return {p.name for p in function.params} | {v.name for node in walk(function.body) for v in binders(node)}


def rename(expr: Expr, names: Names) -> Expr:
    """A copy with every bound variable named anew from `names`."""
    env: dict[str, Atom] = {}

    def bind(var: Var) -> Var:
        new = Var(names.fresh(var.name), var.type, span=var.span)
        env[var.name] = new
        return new

    def visit(e: Expr) -> Expr:
        match e:
            case Var():
                return env.get(e.name, e)
            case Lit() | Weight():
                return e
            case Let():
                bindings, result = lets(e)
                copied = []
                for var, value in bindings:
                    new_value = visit(value)
                    copied.append((bind(var), new_value))
                return from_lets(copied, visit(result))
            case Match():
                e = cast(Match, with_operands(e, [cast(Atom, visit(a)) for a in operands(e)]))
                arms = []
                for arm in e.arms:
                    variables = tuple(bind(v) for v in arm.vars)
                    arms.append(Arm(arm.case, variables, visit(arm.body)))
                return replace(e, arms=tuple(arms))
            case Map():
                e = cast(Map, with_operands(e, [cast(Atom, visit(a)) for a in operands(e)]))
                return replace(e, var=bind(e.var), body=visit(e.body))
            case Fold():
                e = cast(Fold, with_operands(e, [cast(Atom, visit(a)) for a in operands(e)]))
                return replace(e, var=bind(e.var), vars=tuple(bind(v) for v in e.vars), body=visit(e.body))
            case Loop():
                e = cast(Loop, with_operands(e, [cast(Atom, visit(a)) for a in operands(e)]))
                return replace(e, vars=tuple(bind(v) for v in e.vars), cond=visit(e.cond), body=visit(e.body))
        return map_children(e, visit)

    return visit(expr)
