"""Private names of classes: `self.__move` in the class `Parser` is the attribute `_Parser__move`, as Python's compiler says."""

from __future__ import annotations

import ast


def spell_out_private_names(tree: ast.Module) -> None:
    """Give attributes that begin with two underscores, and do not end with them, the names that Python gives them. Inside of
    classes within classes the innermost one counts. Names of local variables stay: their function alone sees them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and (name := node.name.lstrip("_")):
            _spell_out(node, name)


def _spell_out(inside: ast.AST, name: str) -> None:
    for node in ast.iter_child_nodes(inside):
        if isinstance(node, ast.ClassDef):
            continue
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = f"_{name}{node.attr}"
        _spell_out(node, name)
