"""`self.nodes, self.index = [], {}` as the statements `self.nodes = []` and `self.index = {}`, where that is the same.

Python computes all values before it assigns the first one. So each value but the first must be the same after the assignments
before it, and computing it must neither change anything nor raise an exception that a `try` could see.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.syntax_nodes import mentions, names_in

CONTAINERS = frozenset({"list", "set", "dict", "deque", "defaultdict", "OrderedDict", "Counter"})
"""What makes an empty container, by name."""


def separate_assignments(tree: ast.AST) -> None:
    """Replace each such statement in a tree."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(body := getattr(node, field, None), list):
                body[:] = [part for s in body for part in _separated(s) or [s]]


def _separated(s: ast.stmt) -> list[ast.Assign]:
    """The statements that an assignment of several values to as many targets is; [] where it is no such, or has to stay."""
    match s:
        case ast.Assign([ast.Tuple(targets) | ast.List(targets)], ast.Tuple(values) | ast.List(values)):
            parts = _taken_out(targets, values) or _in_order(targets, values)
            separate = [_placed(ast.Assign([target], value)) for target, value in parts]
            return [x for part in separate for x in _separated(part) or [part]]
    return []


def _placed(s: ast.Assign) -> ast.Assign:
    """The statement at the place of its target: no two statements are at one."""
    s.end_lineno, s.end_col_offset = s.value.end_lineno, s.value.end_col_offset
    s.lineno, s.col_offset = s.targets[0].lineno, s.targets[0].col_offset
    return s


def _in_order(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    """Each target with its value, as the assignments follow one another; [] where a value depends on what is before it."""
    if len(targets) != len(values) or any(isinstance(x, ast.Starred) for x in (*targets, *values)):
        return []
    for i, value in enumerate(values[1:], 1):
        if not _is_settled(value) or any(_gives(target, value) for target in targets[:i]):
            return []
    return list(zip(targets, values, strict=True))


def _is_settled(value: ast.expr) -> bool:
    """Whether computing an expression does nothing but make a constant, or containers of constants and of what names hold."""
    match value:
        case ast.Constant() | ast.Name():
            return True
        case ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
        case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
            return all(map(_is_settled, elements))
        case ast.Dict([*keys], values):
            return all(isinstance(k, ast.Constant) for k in keys) and all(map(_is_settled, values))
        case ast.Call(ast.Name(name), arguments, []):
            return name in CONTAINERS and all(isinstance(x, ast.Name) and x.id in CONTAINERS for x in arguments)
    return False


def _gives(target: ast.expr, value: ast.expr) -> bool:
    """Whether an assignment to a target may give a name that a value mentions another value."""
    return any(mentions(target, name, ast.Store) for name in names_in(value))


def _taken_out(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    """`x.items, items = [], x.items` as `items = x.items` and `x.items = []`; [] for others."""
    match targets, values:
        case [ast.Attribute(ast.Name(owner), attribute) as put, ast.Name(name)], [
            ast.List([]) | ast.Dict([]) as empty,
            ast.Attribute(ast.Name(other), same) as taken,
        ] if (owner, attribute) == (other, same) and name != owner:
            return [(targets[1], taken), (put, empty)]
    return []
