"""Methods of Python's containers and of tensors that change their owner, by name, and what they are called of."""

from __future__ import annotations

import ast

LIST_CHANGES = ("append", "extend", "insert", "reverse", "clear", "appendleft", "extendleft", "rotate")
"""Methods that change a list and give nothing, and whose arguments have no names."""
SET_CHANGES = ("add", "difference_update", "discard", "intersection_update", "remove", "subtract", "update")
"""Methods that change a set or dictionary and give nothing."""


def changes_owner(method: str) -> bool:
    """Whether a method of this name changes its owner: a list, set or dictionary, or a tensor, as `x.index_add_(...)` does."""
    return method in CHANGING or method.endswith("_") and not method.endswith("__")


CHANGING = frozenset((*LIST_CHANGES, *SET_CHANGES, "sort", "remove", "pop", "popleft", "setdefault", "popitem", "move_to_end"))
"""Methods that change a list, set or dictionary."""


def root_of(node: ast.expr) -> str | None:
    """The name that a chain of items and attributes begins with; None if it begins with another expression."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
