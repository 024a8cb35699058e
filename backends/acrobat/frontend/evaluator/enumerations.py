"""Members of Enums, which the program keeps as strings are kept."""

from __future__ import annotations

import ast
from enum import EnumType
from typing import Any

from backends.acrobat.frontend.evaluator.constants import chosen
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, handles
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.values import Dyn, Static, Value, known


def member(f: Frame, node: ast.AST, cls: EnumType, value: Value) -> Value:
    """`Action(value)`: the member of an Enum that has this value. Any other value is an error of the instance."""
    is_known, constant = known(value)
    members: dict[Any, Any] = {member.value: member for member in cls}  # type: ignore[var-annotated]
    if is_known:
        return Static(members[constant]) if constant in members else f.problem(node, f"{cls.__name__} has no {constant!r}")
    return chosen(f, node, list(members), value, lambda v: Static(members[v]))


@handles(ATTRIBUTES, "string")
def _of_member(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    """Methods of strings; `.value` and `.name` of a member of an Enum, of a class that the function's file names."""
    named = {x.id for x in ast.walk(f.definition or ast.Pass()) if isinstance(x, ast.Name)}
    classes = {key: c for key, c in f.namespace.items() if isinstance(c, EnumType) and name in ("value", "name")}
    if not classes and callable(getattr(str, name, None)):
        return Method(value, name)
    members: list[Any] = []
    for key, c in classes.items():
        if key in named or not named & classes.keys():
            members += c.__members__.values()
    if not members:
        return f.problem(node, f"a string that is known at run time only has no `{name}` in the language")
    return chosen(f, node, list(dict.fromkeys(members)), value, lambda m: Static(getattr(m, name)))
