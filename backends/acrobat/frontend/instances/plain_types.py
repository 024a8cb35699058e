"""Finishes a program: the types that only the front end has become types of the core IR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import INT, UNIT, DataType, ListKind, ListT, TupleT
from backends.acrobat.frontend.instances.arguments import Completion
from backends.acrobat.frontend.instances.boundary import Boundary, Symbols
from backends.acrobat.frontend.types import HeldT, NeverT, NoneT, SymbolT, UnassignedT
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import map_children


def plain(program: n.Program, symbols: Symbols, observed: bool, completion: Completion | None = None) -> n.Program:
    """The program in types of the core IR alone, with the boundary of its instances and results. `observed` and `completion`:
    see `Boundary`."""
    entry = program.functions[program.entry]
    symbols.of_source = len(symbols.values)
    given_out = {
        name: replace(d, cases=tuple(replace(c, fields=tuple((f, _without_never(t)) for f, t in c.fields)) for c in d.cases))
        for name, d in program.datatypes.items()
    }
    boundary = Boundary(entry.params[0].type, _without_never(_as_dict(entry.result)), given_out, symbols, observed, completion)

    def visit(e: n.Expr) -> n.Expr:
        if isinstance(e, (n.Var, n.Lit)):
            return replace(e, type=plain_type(e.type))
        if isinstance(e, n.Weight):
            return e
        e = map_children(e, visit)
        match e:
            case n.Let():
                return _let(e)
            case n.Match():
                arms = tuple(replace(a, vars=tuple(_var(v) for v in a.vars)) for a in e.arms)
                return replace(e, arms=arms, type=plain_type(e.type))
            case n.Map():
                return replace(e, var=_var(e.var), type=plain_type(e.type))
            case n.Fold():
                return replace(e, var=_var(e.var), vars=tuple(map(_var, e.vars)), type=plain_type(e.type))
            case n.Loop():
                return replace(e, vars=tuple(map(_var, e.vars)), type=plain_type(e.type))
        return replace(e, type=plain_type(e.type))

    functions = {
        name: replace(f, params=tuple(map(_var, f.params)), result=plain_type(f.result), body=visit(f.body))
        for name, f in program.functions.items()
    }
    datatypes = {
        name: DataType(d.name, tuple(replace(c, fields=tuple((f, plain_type(t)) for f, t in c.fields)) for c in d.cases))
        for name, d in program.datatypes.items()
    }
    return replace(program, functions=functions, datatypes=datatypes, boundary=boundary)


def _var(v: n.Var) -> n.Var:
    return replace(v, type=plain_type(v.type))


def _let(e: n.Expr) -> n.Expr:
    """A chain of lets, whose values are converted already, with the types of its variables converted too."""
    bindings: list[tuple[n.Var, n.Expr, Any]] = []
    while isinstance(e, n.Let):
        bindings.append((e.var, e.value, e.span))
        e = e.body
    for var, value, span in reversed(bindings):
        e = n.Let(_var(var), value, e, span=span)
    return e


def plain_type(t: Any) -> Any:
    """The type of the core IR for a type of the front end."""
    match t:
        case ListT(item):
            return ListT(plain_type(item))
        case TupleT(items):
            return TupleT(tuple(map(plain_type, items)))
        case SymbolT() | NeverT():
            return INT
        case NoneT() | UnassignedT():
            return UNIT
        case HeldT(_, inner):
            return plain_type(inner)
    return t


def _as_dict(t: Any) -> Any:
    """The type with plain dictionaries in place of `defaultdict` and `Counter`, as results have them."""
    match t:
        case ListT(item):
            return replace(t, item=_as_dict(item), kind=ListKind(t.container))
        case TupleT(items):
            return TupleT(tuple(map(_as_dict, items)))
    return t


def _without_never(t: Any) -> Any:
    """The type with int as the type of elements of lists that are always empty, which have none."""
    match t:
        case NeverT():
            return INT
        case ListT(item):
            return replace(t, item=_without_never(item))
        case TupleT(items):
            return TupleT(tuple(map(_without_never, items)))
    return t
