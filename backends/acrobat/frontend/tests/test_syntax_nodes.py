"""The nodes of syntax trees are those that Python's own `ast` gives, in its order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from backends.acrobat.frontend import program, syntax_nodes
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
