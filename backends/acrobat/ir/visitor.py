"""Walks and rebuilds expressions. Chains of lets are iterated over, so that a long program needs no deep recursion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Any, cast

from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.work import is_work

Binding = tuple[n.Var, n.Expr]


def lets(expr: n.Expr) -> tuple[list[Binding], n.Expr]:
    """The bindings of a chain of lets, and the tail that ends the chain. Any other expression has no bindings."""
    bindings: list[Binding] = []
    while isinstance(expr, n.Let):
        bindings.append((expr.var, expr.value))
        expr = expr.body
    return bindings, expr


def from_lets(bindings: Sequence[Binding], result: n.Expr) -> n.Expr:
    """The chain of lets that binds `bindings` in order and ends in `result`."""
    for var, value in reversed(bindings):
        result = n.Let(var, value, result, span=value.span)
    return result


def operands(expr: n.Expr) -> tuple[n.Atom, ...]:
    """The atoms a node uses directly; none for a let."""
    used = OPERANDS.get(type(expr))
    if used is None:  # the front end's placeholders are subclasses of Var
        return (expr,) if isinstance(expr, n.Var) else ()
    return used(expr)


OPERANDS: dict[type, Callable[[Any], tuple[n.Atom, ...]]] = {
    **dict.fromkeys((n.Op, n.Host, n.Construct, n.Call, n.Launch), attrgetter("args")),
    **dict.fromkeys((n.Tuple, n.ListOf), attrgetter("items")),
    **dict.fromkeys((n.Var, n.Lit, n.Weight), lambda atom: (atom,)),
    n.Item: lambda node: (node.tensor,),
    n.Field: lambda node: (node.value,),
    n.If: lambda node: (node.cond,),
    n.Match: lambda node: (node.value,),
    n.Map: lambda node: (node.iterable,),
    n.Fold: lambda node: (node.iterable, *node.init),
    n.Loop: attrgetter("init"),
    n.Let: lambda node: (),
}
"""`operands` by the class of the node: passes call it very often, and a table is several times faster than a `match`."""

INNER_OPERANDS = {kind: used for kind, used in OPERANDS.items() if kind not in (n.Var, n.Lit, n.Weight, n.Let)}
"""`operands` by the class of the node, for nodes that are not atoms: an atom is its own only operand."""


def with_operands(expr: n.Expr, new: Sequence[n.Atom]) -> n.Expr:
    """The node with other operands, in the order of `operands`; itself if they are the same."""
    old = operands(expr)
    assert len(old) == len(new), "a node keeps the number of its operands"
    if all(map(is_, old, new)):
        return expr
    changed = WITH_OPERANDS.get(type(expr))
    return new[0] if changed is None else changed(expr, new)


WITH_OPERANDS: dict[type, Callable[[Any, Sequence[n.Atom]], n.Expr]] = {
    n.Op: lambda node, new: n.Op(node.op, tuple(new), node.attrs, node.type, span=node.span),
    n.Host: lambda node, new: n.Host(node.op, tuple(new), node.type, span=node.span),
    n.Construct: lambda node, new: n.Construct(node.case, tuple(new), node.type, span=node.span),
    n.Call: lambda node, new: n.Call(node.function, tuple(new), node.type, span=node.span),
    n.Launch: lambda node, new: n.Launch(node.unit, tuple(new), node.type, span=node.span),
    n.Item: lambda node, new: n.Item(new[0], node.type, span=node.span),
    n.Field: lambda node, new: n.Field(new[0], node.index, node.type, span=node.span),
    n.Tuple: lambda node, new: n.Tuple(tuple(new), node.type, span=node.span),
    n.ListOf: lambda node, new: n.ListOf(tuple(new), node.type, span=node.span),
    n.If: lambda node, new: replace(node, cond=new[0]),
    n.Match: lambda node, new: replace(node, value=new[0]),
    n.Map: lambda node, new: replace(node, iterable=new[0]),
    n.Fold: lambda node, new: replace(node, iterable=new[0], init=tuple(new[1:])),
    n.Loop: lambda node, new: replace(node, init=tuple(new)),
}
"""`with_operands` by the class of the node, for nodes that are not atoms. Small nodes are made directly: `replace` takes three
times as long, and passes make a hundred thousand of them for a large model."""


def bodies(expr: n.Expr) -> tuple[n.Expr, ...]:
    """The nested expressions of a branching or looping node; for a let its value and its body."""
    inside = BODIES.get(type(expr))
    return inside(expr) if inside else ()


BODIES: dict[type, Callable[[Any], tuple[n.Expr, ...]]] = {
    n.If: lambda node: (node.then, node.orelse),
    n.Match: lambda node: tuple(arm.body for arm in node.arms),
    n.Map: lambda node: (node.body,),
    n.Fold: lambda node: (node.body,),
    n.Loop: lambda node: (node.cond, node.body),
    n.Let: lambda node: (node.value, node.body),
}
"""`bodies` by the class of the node, for classes that have bodies."""


def with_bodies(expr: n.Expr, new: Sequence[n.Expr]) -> n.Expr:
    """The node with other nested expressions, in the order of `bodies`; itself if they are the same."""
    if all(a is b for a, b in zip(bodies(expr), new, strict=True)):
        return expr
    match expr:
        case n.If():
            return replace(expr, then=new[0], orelse=new[1])
        case n.Match(arms=arms):
            return replace(expr, arms=tuple(replace(arm, body=body) for arm, body in zip(arms, new, strict=True)))
        case n.Map() | n.Fold():
            return replace(expr, body=new[0])
        case n.Loop():
            return replace(expr, cond=new[0], body=new[1])
        case n.Let():
            return replace(expr, value=new[0], body=new[1])
    return expr


def map_bodies(expr: n.Expr, f: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """The node with `f` applied to its nested expressions; a chain of lets is not recursed into but passed to `f` whole."""
    inside = BODIES.get(type(expr))
    return expr if inside is None else with_bodies(expr, [f(body) for body in inside(expr)])


def map_children(expr: n.Expr, f: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """The node with `f` applied to its operands and nested expressions; for a let chain, to all bound values and the tail."""
    if isinstance(expr, n.Let):
        bindings, result = lets(expr)
        new_bindings = [(var, f(value)) for var, value in bindings]
        new_result = f(result)
        if new_result is result and all(a[1] is b[1] for a, b in zip(new_bindings, bindings, strict=True)):
            return expr
        return from_lets(new_bindings, new_result)
    return map_bodies(
        with_operands(expr, [cast(n.Atom, f(a)) for a in operands(expr)]) if operands(expr) != (expr,) else expr, f
    )


def rewrite_chains(expr: n.Expr, rewrite: Callable[[n.Expr, list[Binding]], n.Expr]) -> n.Expr:
    """The chain of lets with `rewrite(value, before)` in place of each value that it binds, and of its tail, after the chains
    inside that value. What `rewrite` appends to `before` is bound just before the value."""

    def rewrite_chain(chain: n.Expr) -> n.Expr:
        bindings, tail = lets(chain)
        out: list[Binding] = []
        for var, value in bindings:
            out.append((var, rewrite(map_bodies(value, rewrite_chain), out)))
        tail = rewrite(map_bodies(tail, rewrite_chain), out)
        return from_lets(out, tail)

    return rewrite_chain(expr)


def walk(expr: n.Expr) -> list[n.Expr]:
    """Every node in evaluation order, a node before what is inside it. A list, because passes walk whole functions thousands of
    times, and a generator takes twice the time for each node."""
    nodes: list[n.Expr] = []
    stack: list[n.Expr] = [expr]
    while stack:
        node = stack.pop()
        nodes.append(node)
        if isinstance(node, n.Let):
            stack.append(node.body)
            stack.append(node.value)
        elif (used := INNER_OPERANDS.get(type(node))) is not None:
            nodes += used(node)
            if (inside := BODIES.get(type(node))) is not None:
                stack.extend(reversed(inside(node)))
    return nodes


def containing(expr: n.Expr, test: Callable[[n.Expr], bool]) -> frozenset[int]:
    """The `id` of every node in `expr` that passes the test or contains a node that does, found in a single walk."""
    ids: set[int] = set()
    for node in reversed(list(walk(expr))):  # reversed, so that the inside of a node comes before the node
        if test(node) or any(id(body) in ids for body in bodies(node)):
            ids.add(id(node))
    return frozenset(ids)


def binders(expr: n.Expr) -> tuple[n.Var, ...]:
    """The variables a node itself binds (a let's, a loop's, a match's arms')."""
    match expr:
        case n.Let(var=var) | n.Map(var=var):
            return (var,)
        case n.Fold(var=var, vars=more):
            return (var, *more)
        case n.Loop(vars=more):
            return more
        case n.Match(arms=arms):
            return tuple(var for arm in arms for var in arm.vars)
    return ()


def free_vars(expr: n.Expr) -> frozenset[str]:
    """The names that `expr` uses but does not bind. Relies on single binding: a name bound anywhere inside is not free."""
    if type(expr) not in BODIES:
        return frozenset(atom.name for atom in operands(expr) if isinstance(atom, n.Var))
    _fill_caches(expr)
    return expr.free if isinstance(expr, NESTING) and expr.free is not None else _free(expr)


def works(expr: n.Expr) -> bool:
    """Whether evaluating `expr` may record tensor work or wait. Every call of a function counts as if it did."""
    if type(expr) not in BODIES:
        return is_work(expr) or isinstance(expr, n.Call | n.Item)
    _fill_caches(expr)
    return expr.works if isinstance(expr, NESTING) and expr.works is not None else _works(expr)


NESTING = (n.If, n.Match, n.Map, n.Fold, n.Loop)


def _fill_caches(expr: n.Expr) -> None:
    """Sets `free` and `works` of all nodes with bodies in `expr`, inner ones first. Passes ask for them at every level of
    nested branches, which would otherwise take time quadratic in the depth of nesting."""
    if isinstance(expr, NESTING) and expr.free is not None:
        return
    pending = _parts(expr)
    while pending:
        node = pending[-1]
        if not isinstance(node, NESTING) or node.free is not None:
            pending.pop()
        elif inside := [part for part in _parts(node) if isinstance(part, NESTING) and part.free is None]:
            pending += inside
        else:
            object.__setattr__(node, "free", _free(node))  # nodes are frozen, but these two fields are no part of their value
            object.__setattr__(node, "works", _works(node))


def _parts(expr: n.Expr) -> list[n.Expr]:
    """The values and tails of the let chains that `expr` has as bodies, or that it is itself; any other node alone."""
    if not isinstance(expr, (n.Let, *NESTING)):
        return [expr]
    parts: list[n.Expr] = []
    for body in bodies(expr) if isinstance(expr, NESTING) else (expr,):
        bindings, result = lets(body)
        parts += [*(value for _, value in bindings), result]
    return parts


def _works(expr: n.Expr) -> bool:
    """`works(expr)` where the fields of all nodes with bodies inside `expr` are set."""
    return any(p.works if isinstance(p, NESTING) else is_work(p) or isinstance(p, n.Call | n.Item) for p in _parts(expr))


def _free(expr: n.Expr) -> frozenset[str]:
    """`free_vars(expr)` where the fields of all nodes with bodies inside `expr` are set."""
    used = {atom.name for atom in operands(expr) if isinstance(atom, n.Var)}
    for body in bodies(expr) if isinstance(expr, NESTING) else (expr,) if isinstance(expr, n.Let) else ():
        bindings, result = lets(body)
        for each in (*(value for _, value in bindings), result):
            if isinstance(each, NESTING):
                used |= each.free or frozenset()
            else:
                used.update(atom.name for atom in operands(each) if isinstance(atom, n.Var))
        used -= {var.name for var, _ in bindings}
    return frozenset(used - {var.name for var in binders(expr)})


def flat(expr: n.Expr, callees: Mapping[str, str] = MappingProxyType({})) -> tuple[Any, ...]:
    """All nodes in the order of `walk`, each without its bodies. These tuples are equal, with equal hashes, for equal
    expressions, and comparing them needs no recursion along chains. Function names are replaced as `callees` says."""
    out: list[Any] = []
    for node in walk(expr):
        match node:
            case n.Let(var):
                out.append(("let", var))
            case n.If(cond):
                out.append(("if", cond))
            case n.Match(value, arms):
                out.append(("match", value, tuple((arm.case, arm.vars) for arm in arms)))
            case n.Map(var, iterable):
                out.append(("map", var, iterable))
            case n.Fold(var, iterable, carried, init):
                out.append(("fold", var, iterable, carried, init))
            case n.Loop(carried, init):
                out.append(("loop", carried, init))
            case n.Call(name, args):
                out.append(("call", callees.get(name, name), args))
            case _:
                out.append(node)
    return tuple(out)
