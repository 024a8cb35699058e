"""Lists that are taken out of an attribute, which gets an empty one: `items = self.items`, then `self.items = []`.

In between the name and the attribute refer to one list, which nothing there changes or looks at. Afterwards the name alone has
that list, and what held of the attribute before holds still.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, spine, walked
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.referenced import lists_reached
from backends.acrobat.frontend.evaluator.syntax.reading import way_to
from backends.acrobat.frontend.kinds import type_or_none


def takes_out(f: Frame, s: ast.Assign) -> bool:
    """Whether a statement is `xs = x.items`, and `x.items = []` follows."""
    match s:
        case ast.Assign([ast.Name(name)], ast.Attribute(ast.Name(owner), attribute)) if name != owner:
            way = way_to(f.definition.body, s) if f.definition is not None else []
            return bool(way) and name in f.env and _emptied(f, way[-1], owner, attribute) and _is_list(f, s.targets[0])
    return False


def _emptied(f: Frame, way: tuple[Sequence[ast.stmt], int, ast.stmt | None], owner: str, attribute: str) -> bool:
    """Whether an attribute gets an empty list behind the statement at a place, before anything reads it."""
    body, at, _ = way
    for s in body[at + 1 :]:
        match s:
            case ast.Assign([ast.Attribute(ast.Name(o), name)], ast.List([]) | ast.Dict([])) if (
                o == owner and name == attribute
            ):
                return True
            case ast.Assign([ast.Attribute(ast.Name(o), _)], ast.List([]) | ast.Dict([]) | ast.Constant()) if o == owner:
                continue
            case ast.Assign([ast.Subscript(ast.Attribute(ast.Name(o), name) as part, index)], ast.List([])) if o == owner:
                constant = all(
                    isinstance(x, (ast.Slice, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)) for x in ast.walk(index)
                )
                if name != attribute and constant and _is_list(f, part):
                    continue
                return False
            case ast.Expr(ast.Call(ast.Attribute(ast.Attribute(ast.Name(o), name) as part, "clear"), [], [])) if o == owner:
                if name != attribute and _is_list(f, part):
                    continue
                return False
        return False
    return False


def _is_list(f: Frame, node: ast.expr) -> bool:
    """Whether an expression is a list, set or dictionary of the program."""
    with f.trial():
        t = type_or_none(f.borrowed(node))
    return isinstance(t, ListT) and t.rows is None


def claims_taken_out(f: Frame, s: ast.Assign, owned: Claims) -> Claims:
    """The claims after such a statement: the attribute keeps those that it had before (`owned`), and the name gets the same."""
    assert isinstance(s.value, ast.Attribute) and isinstance(s.value.value, ast.Name) and isinstance(s.targets[0], ast.Name)
    name, owner = s.targets[0].id, s.value.value.id
    lists = lists_reached(f, s.value)
    if any(walked(x) in f.owned for x in (owner, *lists)):
        return set()  # the loop goes on over what has the name now
    found = {claim for x in (owner, *lists) for claim in claims(x)} & owned
    around = lists or ({owner} if owner in owned else set())
    if around and all(spine(x) in owned or deep(x) in owned for x in around):
        found |= {name, spine(name)}
    if around and all(deep(x) in owned for x in around):
        found |= claims(name)
    return found
