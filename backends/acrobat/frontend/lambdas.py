"""Lambdas that are values when a model is compiled, such as entries of a table of activations: as functions with a body."""

from __future__ import annotations

import ast
from functools import cache
from types import CodeType

from backends.acrobat.frontend.syntax_nodes import Place, place_of


@cache
def definition_of(node: ast.Lambda) -> ast.FunctionDef:
    """A function that gives what the lambda gives."""
    statement = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("lambda_", node.args, [statement], []), node)


def written(code: CodeType, nodes: list[ast.Lambda]) -> ast.Lambda | None:
    """The one of `nodes`, all lambdas of the file, that was compiled to `code`; None if that cannot be told. Of several in a
    line it is the innermost one whose body has all places that the code comes from."""
    there = [x for x in nodes if x.lineno == code.co_firstlineno]
    if len(there) < 2:
        return there[0] if there else None
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (c, d) != (0, 0)]
    around = [x for x in there if places and all(_within(p, x.body) for p in places)]  # type: ignore[arg-type]
    innermost = [x for x in around if not any(y is not x and _within(place_of(y), x.body) for y in around)]
    return innermost[0] if len(innermost) == 1 else None


def _within(place: Place, node: ast.expr) -> bool:
    line, column, last_line, last_column = place_of(node)
    return (line, column) <= place[:2] and place[2:] <= (last_line, last_column)
