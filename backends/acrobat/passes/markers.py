"""The annotations `phase` and `parallel` in a program, after they have been checked (`analyses.placement`,
`analyses.independence`): which of them are erased, and the form of the entry in which phases can be found.

Source: the annotations are the paper's.
"""

from __future__ import annotations

from dataclasses import replace

from backends.acrobat.analyses.phases import is_marked, is_marker
from backends.acrobat.ir.nodes import Expr, Host, If, Match, Program, Tuple, Var
from backends.acrobat.ir.visitor import from_lets, lets, map_bodies, walk


def erase(program: Program, phases: bool = True) -> Program:
    """`program` without `parallel`, in whose place its tuple or list stands, and, if not `phases`, without `phase`."""

    def erased(expr: Expr) -> Expr:
        """The value that replaces a marker; any other expression with the markers inside erased."""
        match expr:
            case Host("parallel", (value,)):
                return value
            case Host("parallel", values):
                return Tuple(values, expr.type, span=expr.span)
            case Host("phase", (value,)) if not phases:
                return value
        return map_bodies(expr, chain)

    def chain(expr: Expr) -> Expr:
        bindings, tail = lets(expr)
        return from_lets([(var, erased(value)) for var, value in bindings], erased(tail))

    return replace(program, functions={name: replace(f, body=chain(f.body)) for name, f in program.functions.items()})


def open_tail(program: Program) -> Program:
    """`program` with the branches in which a marked entry ends as the tail of its let chain, in place of a variable that is
    bound to them: only in the tail does each arm have phases of its own."""
    if not is_marked(program):
        return program

    def opened(expr: Expr) -> Expr:
        bindings, tail = lets(expr)
        if isinstance(tail, Var) and bindings and bindings[-1][0].name == tail.name and isinstance(bindings[-1][1], If | Match):
            if any(map(is_marker, walk(bindings[-1][1]))):
                *bindings, (_, tail) = bindings
        return from_lets(bindings, map_bodies(tail, opened) if isinstance(tail, If | Match) else tail)

    entry = program.functions[program.entry]
    return replace(program, functions={**program.functions, entry.name: replace(entry, body=opened(entry.body))})
