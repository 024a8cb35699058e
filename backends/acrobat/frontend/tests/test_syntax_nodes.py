"""The nodes of syntax trees are those that Python's own `ast` gives, in its order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from backends.acrobat.frontend import program, syntax_nodes
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, quoted_expression
from backends.acrobat.tests.zoo import grammars


@pytest.mark.parametrize("module", [program, grammars])
def test_nodes_in_order(module: object) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())  # type: ignore[attr-defined]
    whole = [x for x in ast.walk(tree) if not isinstance(x, ast.expr_context)]
    assert len(whole) > 1000
    assert syntax_nodes.every_node(tree) == whole
    for node in whole:
        inside = [x for x in ast.iter_child_nodes(node) if not isinstance(x, ast.expr_context)]
        assert syntax_nodes.children(node) == inside


def test_quoted_text_has_the_parts_in_place_of_their_names() -> None:
    """Also as targets, as attributes, among arguments and as statements; parts keep their positions, and are copied from the
    second place on."""
    source = ast.parse("xs[0].y\nf(a, b)\npass").body
    item, call = (s.value for s in source[:2] if isinstance(s, ast.Expr))
    assert isinstance(call, ast.Call)
    text = "if test: place = test\nowner.change(*args, 3)\nwhile True: body"
    new = quoted(source[1], text, test=item, place=item, owner="·o", change="put", args=call.args, body=[source[2], source[2]])
    assert "\n".join(map(ast.unparse, new)) == (
        "if xs[0].y:\n    xs[0].y = xs[0].y\n·o.put(a, b, 3)\nwhile True:\n    pass\n    pass"
    )
    assert isinstance(new[0], ast.If) and new[0].test is item and isinstance(assignment := new[0].body[0], ast.Assign)
    assert assignment.value is not item and isinstance(item.ctx, ast.Load)  # type: ignore[attr-defined]
    assert isinstance(assignment.targets[0].ctx, ast.Store) and assignment.targets[0].lineno == 1  # type: ignore[attr-defined]
    assert new[1].lineno == 2 and compile(ast.Module(new, []), "", "exec")
    assert ast.unparse(quoted_expression(item, "list(x)", x=call)) == "list(f(a, b))"
