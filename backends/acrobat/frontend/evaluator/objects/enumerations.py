"""Members of Enums, which the program keeps as strings are kept."""

from __future__ import annotations

import ast
import inspect
import types
from enum import EnumType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import is_written
from backends.acrobat.frontend.evaluator.objects.constants import LARGEST, constant_by_key, position
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, handles
from backends.acrobat.frontend.kinds import known, variable_of
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.values import Dyn, Special, Static, Value


def member(f: Frame, node: ast.AST, cls: EnumType, value: Value) -> Value:
    """`Action(value)`: the member of an Enum that has this value. Any other value is an error of the instance."""
    is_known, constant = known(value)
    members: dict[Any, Any] = {member.value: member for member in cls}  # type: ignore[var-annotated]
    if is_known:
        return Static(members[constant]) if constant in members else f.problem(node, f"{cls.__name__} has no {constant!r}")
    return constant_by_key(f, node, list(members), value, lambda v: Static(members[v]))


@handles(ATTRIBUTES, "string")
def _of_string(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    """A method of a string, or an attribute of a member of an Enum."""
    result = of_member(f, node, value, name, of_ints=False)
    if result is None and callable(getattr(str, name, None)):
        return Method(value, name)
    return result or f.problem(node, f"a string that is known at run time only has no `{name}` in the language")


def of_member(f: Frame, node: ast.AST, value: Dyn, name: str, of_ints: bool) -> Value | None:
    """`.value`, `.name`, an attribute, a property or a method of a member of an Enum. Its class is one that the function, its
    file or the class of the model names; with `of_ints` an IntEnum. None if there is no such class."""
    named = {x.id for x in every_node(f.definition or ast.Pass()) if isinstance(x, ast.Name)}
    names = dict(f.namespace) | {key: v.value for key, v in f.env.items() if isinstance(v, Static)}
    model = [type(v.python_object) for v in f.env.values() if isinstance(v, Special) and v.python_object is not None]
    names |= {c.__name__: c for cls in model for c in vars(cls).values() if isinstance(c, EnumType)}
    classes = {
        key: c
        for key, c in names.items()
        if isinstance(c, EnumType) and issubclass(c, int) == of_ints and _is_constant(c, name)
    }
    candidates = [c for key, c in classes.items() if key in named or not named & classes.keys()]
    members: list[Any] = []
    for c in candidates:
        members += c.__members__.values()
    if of_ints and len(set(candidates)) > 1:
        return f.problem(node, f"the class of this member cannot be told, for `{name}`", f"name it: `Color(x).{name}`")
    if not members:
        return None
    members = list(dict.fromkeys(members))
    if any(isinstance(getattr(m, name), types.MethodType) for m in members) and len(members) <= LARGEST:
        methods = tuple(Static(getattr(m, name)) for m in members)
        return OneOf(position(f, node, value, members), methods) if len(members) > 1 else methods[0]
    result = constant_by_key(f, node, members, value, lambda m: Static(getattr(m, name)))
    if variable_of(result):
        f.of_members[variable_of(result)] = value, {m: getattr(m, name) for m in members}
    return result


def _is_constant(cls: EnumType, name: str) -> bool:
    """Whether the members of an Enum have an attribute of this name that is a constant of each, or a method."""
    if name in ("value", "name") or all(name in vars(m) for m in list[Any](cls.__members__.values())):
        return True
    of_class = inspect.getattr_static(cls, name, None)
    return isinstance(of_class, property) or is_written(of_class)
