"""Which loops pick modules of the model by their variable, and so are unrolled; and which arguments name attributes.

`self.cells[i]` and `getattr(self, f"layer{i}")` in the body of `for i in range(3)` mean another module in each round.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.bodies import hint_of
from backends.acrobat.frontend.source import source_of, stripped
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.syntax_nodes import every_node, names_in, parameter_names
from backends.acrobat.frontend.values import Special, Static

UNROLLED = 64
"""The most rounds of a loop or comprehension over a constant range that is unrolled because it needs to know the round."""


def picks_modules(f: Frame, target: ast.expr, body: Sequence[ast.AST]) -> bool:
    """Whether the body of a loop over `target` picks modules by it: as an index, in the name of an attribute, or as an argument
    of a function that makes such a name of it."""
    variable = hint_of(target)
    if variable in naming(body):
        return True
    for node in (sub for b in body for sub in every_node(b)):
        match node:
            case ast.Subscript(owner, index) if variable in _names(index):
                with f.trial():
                    value = f.expression(owner)
                    if isinstance(value, Special) and value.unrolled:
                        return True
            case ast.Call(callee, args, keywords) if (
                variable not in _names(callee)  # else it has no value yet; an index is found below
                and any(variable in _names(a) for a in (*args, *(k.value for k in keywords)))
            ):
                with f.trial():
                    function = f.expression(callee)
                if isinstance(function, Method):
                    function = Static(function.function)
                if isinstance(function, Static) and naming_parameters(function.value):
                    return True
    return False


def naming_parameters(function: object) -> set[str]:
    """The parameters of a function of the source of which it makes names of attributes: `i` of `getattr(self, f"layer{i}")`."""
    if not isinstance(function, types.FunctionType) or "getattr" not in function.__code__.co_names:
        return set()
    definition, _ = source_of(stripped(function))
    return naming(definition.body) & {*parameter_names(definition)}


def picked(definition: ast.FunctionDef) -> ast.expr | None:
    """What a function gives that only picks a part of its first argument, such as a module: `return self.layers[i]`."""
    body = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Return(ast.expr() as value)] if definition.args.args and _is_path(value, definition.args.args[0].arg):
            return value
    return None


def _is_path(node: ast.expr, me: str) -> bool:
    match node:
        case ast.Attribute(owner) | ast.Subscript(owner) | ast.Call(ast.Name("getattr"), [owner, _], []):
            return isinstance(owner, ast.Name) and owner.id == me or _is_path(owner, me)
    return False


def naming(body: Sequence[ast.AST]) -> set[str]:
    """The names of which the statements make the names of attributes, directly or through another name."""
    nodes = [sub for b in body for sub in every_node(b)]
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.Call(ast.Name("getattr" | "hasattr"), [_, written, *_]):
                names |= _names(written)
    return names_behind(body, names)


def names_behind(body: Sequence[ast.AST], result: set[str]) -> set[str]:
    """These names, and those from which the statements compute them, directly or through another name."""
    nodes = [sub for b in body for sub in every_node(b)]
    while True:
        more = set(result)
        for node in nodes:
            match node:
                case ast.Assign([ast.Name(name)], value) if name in result:
                    more |= _names(value)
        if more == result:
            return result
        result = more


def _names(node: ast.AST) -> set[str]:
    return {*names_in(node)}
