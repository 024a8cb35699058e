"""How often a body may read a name: an iterator is exhausted by its first use."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.syntax.reading import bodies, way_to
from backends.acrobat.frontend.syntax_nodes import children, every_node

SEVERAL = 2
"""Stands for any number of uses above one."""


def uses(body: Sequence[ast.stmt], name: str) -> int:
    """The most reads of a name on one way through a body, up to `SEVERAL`, before the name is rebound."""
    count = 0
    for i, s in enumerate(body):
        match s:
            case ast.If(test, then, orelse):
                rest = uses(body[i + 1 :], name)
                arms = [uses(arm, name) + (0 if _ends(arm) or _assigns(arm, name) else rest) for arm in (then, orelse)]
                return min(count + _read(test, name) + max(arms), SEVERAL)
            case ast.For(_, whole, inner, orelse):
                count += _read(whole, name) + SEVERAL * uses(inner, name) + uses(orelse, name)
            case ast.While(test, inner, orelse):
                count += SEVERAL * (_read(test, name) + uses(inner, name)) + uses(orelse, name)
            case ast.Match(subject, cases):
                count += _read(subject, name) + max(uses(c.body, name) for c in cases)
            case ast.With(items, inner):
                count += sum(_read(x, name) for x in items) + uses(inner, name)
            case ast.Try():
                count += sum(uses(inner, name) for inner in bodies(s))
            case ast.FunctionDef() | ast.ClassDef():
                count += SEVERAL * _read(s, name)
            case _:
                count += _read(s, name)
        if _assigns([s], name):
            break
    return min(count, SEVERAL)


def _read(node: ast.AST, name: str) -> int:
    """As `uses`, of an expression or a statement without bodies of its own."""
    match node:
        case ast.Name(id, ast.Load()):
            return int(id == name)
        case ast.IfExp(test, body, orelse):
            return _read(test, name) + max(_read(body, name), _read(orelse, name))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            first = node.generators[0].iter
            return _read(first, name) + SEVERAL * (_all_of(node, name) - _read(first, name))
        case ast.Lambda():
            return SEVERAL * _all_of(node, name)
    return _all_of(node, name)


def _all_of(node: ast.AST, name: str) -> int:
    return sum(_read(child, name) for child in children(node))


def _assigns(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether one of the statements gives a name another value, whatever way is taken through it."""
    return any(isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in s.targets) for s in body)


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether what follows a body is not reached through it."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


WALKING = frozenset(
    [
        "all",
        "any",
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "reversed",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    ]
)
"""Python's functions that go through what they are given, and keep no reference to it under a name."""


def handed_on(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a body may give the value of a name another name or place: it is assigned, returned, made a part of something, or
    passed to a function other than Python's own and methods of strings."""
    for node in (x for s in body for x in every_node(s)):
        inside: Sequence[ast.AST | None] = ()
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value) | ast.Return(value):
                inside = (value,)
            case ast.Yield(value) | ast.YieldFrom(value):
                inside = (value,)
            case ast.Tuple(parts) | ast.List(parts) | ast.Dict(values=parts):
                inside = parts
            case ast.IfExp(_, one, other):
                inside = (one, other)
            case ast.Call(ast.Name(function)) if function in WALKING:
                pass
            case ast.Call(ast.Attribute(ast.Constant())):
                pass
            case ast.Call(_, arguments, keywords):
                inside = (*arguments, *(k.value for k in keywords))
        if any(isinstance(x, ast.Name) and x.id == name for x in inside):
            return True
    return False


def innermost(body: Sequence[ast.stmt], node: ast.AST) -> ast.stmt | None:
    """The innermost statement of a function's body that a node is a part of; None where it is in a function inside of it."""
    for s in body:
        if any(x is node for x in every_node(s)):
            if isinstance(s, (ast.FunctionDef, ast.ClassDef, ast.Try)):
                return None
            below = [innermost(inner, node) for inner in bodies(s) if any(x is node for b in inner for x in every_node(b))]
            return below[0] if below else s
    return None


def after(body: Sequence[ast.stmt], s: ast.stmt) -> list[ast.stmt]:
    """The statements of a function's body that may run after the statement `s`, in order; in a loop also those before it."""
    later: list[ast.stmt] = []
    way = way_to(body, s)
    is_tried = any(isinstance(around, ast.Try) for *_, around in way)
    for statements, at, around in reversed(way):
        later += statements[at + 1 :]
        if not is_tried and any(isinstance(x, (ast.Return, ast.Raise)) for x in statements[at:]):
            break  # what follows around this body is not reached from here
        if isinstance(around, (ast.For, ast.While)):
            later += around.body
        elif isinstance(around, ast.Try):
            later += [x for inner in bodies(around) if inner is not statements for x in inner]
    return later
