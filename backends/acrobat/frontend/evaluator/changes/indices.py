"""Indices of places that are changed: those that change something themselves are computed once, before the place is looked
at."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.bodies import HIDDEN
from backends.acrobat.frontend.syntax_nodes import every_node


def in_source_order(f: Frame, node: ast.expr) -> ast.expr:
    """`node`, a chain of items and attributes that a statement changes. Indices of it that change something themselves, as
    `heads[stack.pop()]` does, are compiled here, and have names in the chain given back: it may be compiled again, and what is
    compiled from now on sees what they have changed."""
    match node:
        case ast.Attribute(owner, attr, ctx):
            inner = in_source_order(f, owner)
            return node if inner is owner else ast.copy_location(ast.Attribute(inner, attr, ctx), node)
        case ast.Subscript(owner, index, ctx):
            inner = in_source_order(f, owner)
            changes = changes_something(f, index)
            if changes and any(isinstance(x, ast.Slice) for x in (index, *getattr(index, "elts", ()))):
                raise Refused("a bound of this slice changes a list or an object", "give it a name first")
            named = named_index(f, node, index) if changes else index
            return node if (inner, named) == (owner, index) else ast.copy_location(ast.Subscript(inner, named, ctx), node)
    return node


def changes_something(f: Frame, index: ast.expr) -> bool:
    """Whether computing an index changes a list or an object."""
    if not any(isinstance(x, ast.Call) for x in every_node(index)):
        return False
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    parts = [p for e in entries for p in ((e.lower, e.upper) if isinstance(e, ast.Slice) else (e,)) if p is not None]
    before, f.mutated = f.mutated, set()
    with f.trial():
        for part in parts:
            f.borrowed(part)
        changed = bool(f.mutated)
    f.mutated = before
    return changed


def named_index(f: Frame, node: ast.Subscript, index: ast.expr) -> ast.expr:
    """A hidden name for the value of the index of `node`, which is computed here. Each one of a chain has its own."""
    depth = sum(isinstance(x, ast.Subscript) for x in every_node(node.value))
    at = ast.copy_location(ast.Name(f"{HIDDEN}at{node.lineno}:{node.col_offset}.{depth}", ast.Load()), index)
    f.env[at.id] = f.expression(index)
    return at
