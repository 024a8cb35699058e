"""Generators without an end that have a name, and are asked for one value after the other.

    values = self.doubled(3)
    first = next(values)            each `next` becomes what the generator computes for one value
    for y in values: ...            and so does each round

This is done for generators that consist of one `while True` with one `yield` in it, behind statements that do no more than
assign to names. What they compute in a round behind the `yield` comes before the next value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from backends.acrobat.frontend.evaluator.rewriting.counting import computed
from backends.acrobat.frontend.evaluator.rewriting.loops_inside import has_own
from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted, replaced_in
from backends.acrobat.frontend.syntax_nodes import every_node, mentions


@dataclass(frozen=True)
class Steps:
    """What a generator without an end computes: `start` before its first value, `before` each value, and `behind` each but the
    last that is asked for."""

    start: list[ast.stmt]
    before: list[ast.stmt]
    value: ast.expr
    behind: list[ast.stmt]

    def next(self, name: str, begun: str) -> list[ast.stmt]:
        """The statements that give a name the next value. `begun` is the name that tells whether there was one before."""
        behind, before = [*map(copied, self.behind)], [*map(copied, self.before)]
        again = quoted(self.value, "if begun: behind\nbegun = True", begun=begun, behind=behind) if behind else []
        return [*again, *before, *quoted(self.value, "name = value", name=name, value=copied(self.value))]


def steps_of(body: Sequence[ast.stmt]) -> Steps | None:
    """The steps of a generator with this body; None where it has another form."""
    match body:
        case [*start, ast.While(ast.Constant(test), inner, [])] if test and all(map(_only_names, start)):
            at = [i for i, s in enumerate(inner) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield)]
            inside = [x for s in body for x in own_nodes(s)]
            yields = [x for x in inside if isinstance(x, (ast.Yield, ast.YieldFrom, ast.Return))]
            if len(at) == len(yields) == 1 and not has_own(inner, ast.Break) and not has_own(inner, ast.Continue):
                given = yields[0].value or ast.copy_location(ast.Constant(None), yields[0])
                return Steps([*start], inner[: at[0]], given, inner[at[0] + 1 :])
    return None


def _only_names(s: ast.stmt) -> bool:
    """Whether a statement does nothing but assign numbers and the like to names, and may come earlier."""
    match s:
        case ast.Expr(ast.Constant()):
            return True
        case ast.Assign([ast.Name()], value) | ast.AnnAssign(ast.Name(), value=ast.expr() as value):
            return not any(isinstance(x, (ast.Call, ast.Attribute, ast.Subscript)) for x in every_node(value))
    return False


def with_steps(
    body: Sequence[ast.stmt], name: str, made: Sequence[ast.stmt], steps: Steps, fresh: Callable[[str], str]
) -> list[ast.stmt] | None:
    """The body of a function in which the generator `name` is asked for values: `made` replaces the statement that makes it.
    None where the name is used in other ways."""
    begun = fresh("begun")
    if any(isinstance(x, ast.FunctionDef) and mentions(x, name) for s in body for x in every_node(s)):
        return None

    def by(node: ast.AST) -> Any:
        match node:
            case ast.Assign([ast.Name(target)]) if target == name:
                return [*made, *quoted(node, "begun = False", begun=begun)]
            case ast.For(target, ast.Name(walked), inner) if walked == name:
                text = "while True:\n    step\n    target = value\n    inner"
                value = fresh("value")
                return quoted(node, text, step=steps.next(value, begun), target=target, value=value, inner=inner)
        asked = _asked_for(node, name) if isinstance(node, ast.stmt) else []
        names = {x: fresh("value") for x in asked}
        before = [s for value in names.values() for s in steps.next(value, begun)]
        return [*before, _Named(names).visit(node)] if asked else node

    result = replaced_in(body, by)
    return None if mentions(result, name) else result


def _asked_for(s: ast.stmt, name: str) -> list[ast.AST]:
    """Where a statement always asks for a value, and computes nothing before that the generator might change, or that might
    change what it reads."""
    found: list[ast.AST] = []
    called = {x.func for x in every_node(s) if isinstance(x, ast.Call)}
    for x in computed(s):
        if asks(x, name):
            found.append(x)
        elif isinstance(x, (ast.Call, ast.Subscript)) or isinstance(x, ast.Attribute) and x not in called:
            break
    return found


def asks(node: ast.AST, name: str) -> bool:
    """Whether an expression is `next(name)`; a second argument would never be given."""
    match node:
        case ast.Call(ast.Name("next"), [ast.Name(asked), *default], []) if asked == name and len(default) < 2:
            return all(isinstance(x, (ast.Constant, ast.Name)) for x in default)
    return False


class _Named(ast.NodeTransformer):
    """Puts names in place of nodes."""

    def __init__(self, names: dict[ast.AST, str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        if node in self.names:
            return ast.copy_location(ast.Name(self.names[node], ast.Load()), node)
        return self.generic_visit(node)
