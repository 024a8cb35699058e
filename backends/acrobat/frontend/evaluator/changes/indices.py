"""Indices of places that are changed: those that change something themselves are computed once, before the place is looked
at; and what is computed with the change may move the items of the lists on the way to the place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.referenced import name_of_objects
from backends.acrobat.frontend.evaluator.syntax.bodies import HIDDEN
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import is_shared

LONGER_OR_SHORTER = frozenset({"append", "appendleft", "clear", "extend", "extendleft", "insert", "pop", "popleft", "remove"})
"""Methods of lists after which an index may mean another item."""


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
            inner = after_changes(f, inner, [index]) if changes else inner
            return node if (inner, named) == (owner, index) else ast.copy_location(ast.Subscript(inner, named, ctx), node)
    return node


def changes_something(f: Frame, index: ast.expr) -> bool:
    """Whether computing an index changes a list or an object."""
    if not any(isinstance(x, ast.Call) for x in every_node(index)):
        return False
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    parts = [p for e in entries for p in ((e.lower, e.upper) if isinstance(e, ast.Slice) else (e,)) if p is not None]
    with f.changes(counted=False) as changed, f.trial():
        for part in parts:
            f.borrowed(part)
    return bool(changed)


def named_index(f: Frame, node: ast.Subscript, index: ast.expr) -> ast.expr:
    """A hidden name for the value of the index of `node`, which is computed here. Each one of a chain has its own."""
    depth = sum(isinstance(x, ast.Subscript) for x in every_node(node.value))
    at = ast.copy_location(ast.Name(f"{HIDDEN}at{node.lineno}:{node.col_offset}.{depth}", ast.Load()), index)
    f.env[at.id] = f.expression(index)
    return at


def after_changes(f: Frame, node: ast.expr, computed: Sequence[ast.expr]) -> ast.expr:
    """`node`, a chain of items and attributes, as it is to be written once the expressions `computed` have been computed.
    Python looks at it before: `stack[-2].append(stack.pop())`. Raises Refused where these take something out of a list of the
    chain, or put something in, in a way of which the source does not tell where the item is then."""
    match node:
        case ast.Attribute(owner, attr, ctx):
            inner = after_changes(f, owner, computed)
            return node if inner is owner else ast.copy_location(ast.Attribute(inner, attr, ctx), node)
        case ast.Subscript(owner, index, ctx):
            inner = after_changes(f, owner, computed)
            moved = _moved(f, node, owner, index, computed)
            return node if (inner, moved) == (owner, index) else ast.copy_location(ast.Subscript(inner, moved, ctx), node)
    return node


def _moved(f: Frame, node: ast.Subscript, owner: ast.expr, index: ast.expr, computed: Sequence[ast.expr]) -> ast.expr:
    """The index of an item of the list `owner` after that."""
    changes = [x for part in computed for x in every_node(part) if _changes_list(x, ast.unparse(owner))]
    with f.trial():
        t = f.without_none(type_or_none(f.borrowed(owner)))
    if isinstance(t, ListT) and t.kind.startswith("dict"):
        return index  # a key stays the same
    changed = {name for part in computed for x in every_node(part) for name in f.changed_by.get(x, ())}  # type: ignore[call-overload]
    elsewhere = is_shared(t) and any(name_of_objects(f, c) in changed for c in f.program.datatypes.cases[t.name])
    if not changes and not elsewhere:
        return index
    ends = [_end_taken(x) for x in changes]
    match index:
        case ast.Constant(int() as at) if ends and all(ends) and at >= (first := ends.count("first")):
            return ast.copy_location(ast.Constant(at - first), index)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as back)) if ends and all(ends) and back > (last := ends.count("last")):
            return ast.copy_location(ast.UnaryOp(ast.USub(), ast.Constant(back - last)), index)
    what = f"`{ast.unparse(owner)}` gets longer or shorter after `{ast.unparse(node)}` was found"
    raise Refused(what, "give what changes it a name before: then indices count in the list as it is after that")


def _changes_list(node: ast.AST, text: str) -> bool:
    """Whether a node is a call of a method that makes the list longer or shorter which the source writes as `text`."""
    match node:
        case ast.Call(ast.Attribute(owner, method)):
            return method in LONGER_OR_SHORTER and ast.unparse(owner) == text
    return False


def _end_taken(node: ast.AST) -> str:
    """From which end of a list a call takes the item there, "first" or "last"; "" for others."""
    match node:
        case ast.Call(ast.Attribute(attr="pop"), []):
            return "last"
        case ast.Call(ast.Attribute(attr="popleft"), []) | ast.Call(ast.Attribute(attr="pop"), [ast.Constant(0)]):
            return "first"
    return ""
