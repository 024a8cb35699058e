"""Objects that are made without their `__init__`, and get their attributes right afterwards, as a `copy` of one's own does it:

other = object.__new__(Board)            # one call: other = bare(Board, cells=self.cells[:], turn=self.turn)
other.cells = self.cells[:]
other.turn = self.turn
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy

from backends.acrobat.frontend.evaluator.syntax.bodies import with_bodies
from backends.acrobat.frontend.syntax_nodes import every_node, mentions


def with_bare_objects(
    definition: ast.FunctionDef, bare: Callable[[ast.expr, dict[str, ast.expr]], ast.expr]
) -> ast.FunctionDef:
    """A function in which such an object is made at once, by what `bare` makes of its class and its attributes."""
    if not any(_class_of_new(x) for x in every_node(definition)):
        return definition
    result = copy(definition)
    result.body = _at_once(definition.body, bare)
    return result


def _at_once(body: Sequence[ast.stmt], bare: Callable[[ast.expr, dict[str, ast.expr]], ast.expr]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    i = 0
    while i < len(body):
        s = body[i]
        i += 1
        match s:
            case ast.Assign([ast.Name(name)], value) if (cls := _class_of_new(value)) is not None:
                attributes: dict[str, ast.expr] = {}
                while i < len(body) and (given := _attribute_given(body[i], name)) and given[0] not in attributes:
                    attributes[given[0]] = given[1]
                    i += 1
                if attributes:
                    s = ast.copy_location(ast.Assign(s.targets, ast.copy_location(bare(cls, attributes), value)), s)
        out.append(with_bodies(s, lambda inner: _at_once(inner, bare)))
    return out


def _class_of_new(node: ast.AST) -> ast.expr | None:
    """The class in `object.__new__(C)` and `C.__new__(C)`; None for other nodes."""
    match node:
        case ast.Call(ast.Attribute(owner, "__new__"), [cls], []):
            if ast.unparse(owner) in ("object", ast.unparse(cls)):
                return cls
    return None


def _attribute_given(s: ast.stmt, name: str) -> tuple[str, ast.expr] | None:
    """The attribute of the object with this name that a statement assigns to, and the value, which does not use the object."""
    match s:
        case ast.Assign([ast.Attribute(ast.Name(owner), attribute)], value) if owner == name and not mentions(value, name):
            return attribute, value
    return None
