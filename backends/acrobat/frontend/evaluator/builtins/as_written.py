"""Functions that look at their arguments as written: `isinstance`, `super`, `bool` and `sum`."""

from __future__ import annotations

import ast
import functools
import types
from typing import Any

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.builtins.sums import total
from backends.acrobat.frontend.evaluator.conditions.conditions import TESTED, truth
from backends.acrobat.frontend.evaluator.conditions.truths import condition
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, FUNCTIONS, WRITTEN, handles
from backends.acrobat.frontend.kinds import is_object
from backends.acrobat.frontend.specials import Partial, Super
from backends.acrobat.frontend.values import Dyn, Special, Static, Value


@handles(WRITTEN, sum, functools.reduce)
def _sum(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return total(f, node, function)


@handles(FUNCTIONS, sum)
def _sum_of_values(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`sum` as a value: passed to another function, or chosen at run time, as in `map(sum, rows)` and `{"sum": sum, "max":
    max}[k](xs)`."""
    given: list[ast.expr] = [ast.copy_location(CompiledNode(v), node) for v in args]
    named = [ast.keyword(name, ast.copy_location(CompiledNode(v), node)) for name, v in kwargs.items()]
    result = total(f, ast.copy_location(ast.Call(ast.Name("sum", ast.Load()), given, named), node), sum)
    assert result is not None
    return result


@handles(FUNCTIONS, bool)
def _truth_of_value(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`bool` as a value, as in `list(map(bool, rows))`."""
    (value,) = CallArguments("bool", args, kwargs).bind("x", x=Static(False))
    return condition(f, value, node)


@handles(WRITTEN, isinstance)
def _isinstance(f: Frame, node: ast.Call, function: Any) -> Value | None:
    tested = node.args[0] if len(node.args) == 2 and not node.keywords else None
    return truth(f, node) if isinstance(tested, TESTED) and is_object(f.borrowed(tested)) else None


@handles(WRITTEN, super)
def _super(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`super()` in a method: its object, with attributes looked up in the classes after the one that defines the method."""
    definition, cls = f.definition, f.namespace.get("__class__")
    if node.args or definition is None or not definition.args.args or not isinstance(cls, type):
        return None
    return Super(f.env[definition.args.args[0].arg], cls)


@handles(ATTRIBUTES, Super)
def _of_super(f: Frame, node: ast.AST, value: Super, name: str) -> Value:
    """A method or property of `super()`, from the next class that has the name."""
    owner = value.owner
    kinds = [type(owner.python_object)] if isinstance(owner, Special) and owner.python_object is not None else []
    if isinstance(owner, Dyn) and isinstance(owner.type, DataT):
        kinds = list(f.program.datatypes.cases.get(owner.type.name, ()))
    found = []
    for one in (k for k in kinds if value.cls in k.__mro__):  # an object of another class does not come here
        later = one.__mro__[one.__mro__.index(value.cls) + 1 :]
        found.append(next((vars(c)[name] for c in later if name in vars(c)), None))
    if found and all(x is found[0] for x in found):
        if isinstance(found[0], types.FunctionType) and (name == "forward" or not found[0].__module__.startswith("torch.")):
            return Partial(Static(found[0]), (owner,), ())
        if isinstance(found[0], property) and isinstance(found[0].fget, types.FunctionType):
            return f.program.call(f, node, found[0].fget, [owner], {})
    return f.problem(node, f"`super().{name}` is not in the language here", "write what it does")


@handles(WRITTEN, bool)
def _bool(f: Frame, node: ast.Call, function: Any) -> Value | None:
    return truth(f, node.args[0]) if len(node.args) == 1 and not node.keywords else None
