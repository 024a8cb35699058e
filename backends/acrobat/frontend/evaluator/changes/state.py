"""Attributes of modules that the model assigns to and reads while it runs an instance: `self.hidden = h`, read later.

The program is pure. In methods of the module each such attribute is a variable (`as_variables`). Functions that use it, or call
one that does, take its value as a further parameter and give the new one as a further result, as for fields that are written on
objects of the instance (`kept`). An attribute has no value when an instance begins: one that is read before it was assigned
would depend on the instance before, which is an error. A list or dictionary that is cleared has a value from there on, too.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Mapping
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import fail, open_optional
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.quoting import attributes_as_names, quoted
from backends.acrobat.frontend.kinds import is_unknown, type_or_none
from backends.acrobat.frontend.types import is_unassigned
from backends.acrobat.frontend.values import NOTHING, Dyn, Static, Value, unknown

EMPTY: dict[type, str] = {list: "[]", dict: "{}", set: "{*()}"}
CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.Counter, collections.OrderedDict)
"""The classes of attributes that an instance may clear, instead of assigning an empty one."""


def as_variables(definition: ast.FunctionDef, attributes: Mapping[str, str]) -> ast.FunctionDef:
    """A method with variables in place of attributes of its object; `attributes` has the variables' names."""
    me = definition.args.args[0].arg if definition.args.args else ""
    return attributes_as_names(definition, me, attributes)  # type: ignore[no-any-return]


def may_have_none(f: Frame, name: str) -> bool:
    """Whether a name of the scope may have no value: it is not assigned on all paths."""
    value = f.env[name]
    return is_unassigned(type_or_none(value)) or value is NOTHING


def assigned(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    """The value of a name that is assigned on some paths only. Reading it on another path is an error of the instance."""
    if f.program.carried.is_state(name):
        text = f"AttributeError: {f.shown(name)} is read before this instance assigns it"
    else:
        text = f.left_otherwise.get(name, f"UnboundLocalError: `{name}` has no value here")
    if value is NOTHING and name in f.unassigned_in_arms:
        return fail(f, text)
    if not isinstance(value, Dyn):
        what = f"{f.shown(name)} is not assigned here"
        if f.program.carried.is_state(name):
            advice = "assign it first in each call, or return it and give it with the next instance"
            return f.problem(node, f"{what}: its value would be that of the instance before", advice)
        return f.problem(node, what, "assign it on every path, or before")
    return open_optional(f, node, value, lambda some: some, lambda: fail(f, text), name)


def settle(f: Frame, node: ast.expr) -> None:
    """Have a name that was assigned on some paths only stand for its value, for what looks at the scope itself."""
    if isinstance(node, ast.Name) and node.id in f.env and may_have_none(f, node.id):
        f.env[node.id] = assigned(f, node, f.env[node.id], node.id)


def attribute(f: Frame, node: ast.AST, module: Any, name: str) -> Value | None:
    """The value of such an attribute, read from outside of the module; None for other attributes."""
    variable = f.program.carried.state_of(module, name)
    if not variable:
        return None
    f.program.carried.touches(variable, False)
    if variable not in f.env:
        f.program.incomplete = True
        return unknown()
    f.owned -= claims(variable)  # the reader may keep a reference; `Frame.borrowed` undoes this
    if may_have_none(f, variable):
        f.env[variable] = assigned(f, node, f.env[variable], variable)
    return f.env[variable]


def assign(f: Frame, module: Any, name: str, value: Value) -> bool:
    """Assign to such an attribute from outside of the module; False for other attributes. The value may be seen elsewhere."""
    variable = f.program.carried.state_of(module, name)
    if not variable:
        return False
    f.program.carried.touches(variable, True)
    f.keep(variable, value)
    f.owned -= claims(variable)
    return True


def variable_assigned(f: Frame, target: ast.expr) -> str:
    """The variable for such an attribute, which an assignment from outside of the module has named; "" for other targets."""
    if not isinstance(target, ast.Attribute):
        return ""
    module = getattr(f.borrowed(target.value), "python_object", None)
    return "" if module is None else f.program.carried.state_of(module, target.attr)


def cleared(f: Frame, s: ast.stmt, attribute: ast.expr) -> list[ast.stmt]:
    """The statement for `attribute.clear()` of a list, set or dictionary that is an attribute of a module and that nothing else
    refers to: the assignment of an empty one if it has no value yet, else clearing its variable. [] for other places, and for
    variables, which are cleared as all others."""
    if isinstance(attribute, ast.Name):
        module, name = f.program.carried.place_of(attribute.id)
    elif isinstance(attribute, ast.Attribute):
        with f.trial():
            module, name = getattr(f.borrowed(attribute.value), "python_object", None), attribute.attr
    else:
        return []
    container = None if module is None else vars(module).get(name)
    if type(container) not in CONTAINERS or getattr(container, "maxlen", None) is not None:
        return []
    variable = f.program.carried.state_of(module, name)
    value = f.env.get(variable, unknown())
    if not is_unknown(value) and not may_have_none(f, variable):
        if isinstance(attribute, ast.Name):
            return []
        f.program.carried.touches(variable, True)
        return quoted(s, "variable.clear()", variable=variable)
    is_seen = value is not NOTHING and not is_unknown(value) and variable not in f.owned
    if is_seen or not f.program.carried.holds_alone(module, name):
        return []
    if not is_unknown(value):
        f.program.carried.cleared.add(variable)
    factories = [CompiledNode(Static(x)) for x in (getattr(container, "default_factory", None),) if x is not None]
    made = EMPTY.get(type(container)) or f"library.{type(container).__name__}(*factories)"
    return quoted(s, f"attribute = {made}", attribute=attribute, library=CompiledNode(Static(collections)), factories=factories)


def check_cleared(f: Frame, at: ast.AST, result: Value) -> None:
    """Note a problem for a list that the model clears in each instance and that `result`, which the model gives, may have in
    it: Python's next instance clears it there, too."""
    for variable in f.program.carried.cleared & f.env.keys() - f.owned:
        if _occurs(type_or_none(f.env[variable]), type_or_none(result)):
            what = f"the result may have {f.shown(variable)} in it, which the next instance clears"
            f.problem(at, what, "return a copy, with `list(...)` or `dict(...)`, or assign an empty one instead")


def _occurs(t: Any, inside: Any) -> bool:
    """Whether a value of one type may have one of the container type `t` in it."""
    if not isinstance(t, ListT):
        return False
    parts = inside.items if isinstance(inside, TupleT) else [inside.item] if isinstance(inside, ListT) else []
    return t == inside or isinstance(inside, DataT) or any(_occurs(t, part) for part in parts)


def root_in_scope(f: Frame, node: ast.expr) -> str:
    """The name in the scope that a chain of items and attributes begins with: a variable, or the one for such an attribute."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if variable := variable_assigned(f, node):
            return variable
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def given_away(f: Frame, before: Claims) -> Claims:
    """The claims in `before`, a former `Frame.owned`, on such attributes and on lists of objects that no longer hold, since
    something else may refer to the values now. These outlive the function."""
    return {c for x in f.program.carried.tracked for c in claims(x) if c in before and c not in f.owned}
