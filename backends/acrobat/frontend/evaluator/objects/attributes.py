"""Attributes of values, and of objects known at compile time."""

from __future__ import annotations

import ast
import types

from backends.acrobat.core.types import TupleT
from backends.acrobat.frontend.derived_containers import container_of
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.derived_values import derived_class
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors
from backends.acrobat.frontend.evaluator.objects.classes import class_attribute
from backends.acrobat.frontend.evaluator.objects.properties import getter_of
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, PAIRS, handles
from backends.acrobat.frontend.kinds import is_list, kind, known, nothing_known, type_or_none
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown


def attribute(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    """The value of `value.name`. Raises Refused."""
    if nothing_known(value) and kind(value) != "tuple":
        return unknown()
    handler = ATTRIBUTES.get(kind(value))
    if handler is not None:
        return handler(f, node, value, name)
    what = describe(value.type) if isinstance(value, Dyn) else "this"
    return f.problem(node, f"{what} has no attribute `{name}`" + ("" if isinstance(value, Dyn) else " in the language"))


@handles(ATTRIBUTES, Static)
def _of_constant(f: Frame, node: ast.AST, value: Static, name: str) -> Value:
    owner = value.value
    match owner:
        case types.ModuleType():
            if not hasattr(owner, name):
                return f.problem(node, f"the module {owner.__name__} has no `{name}`")
        case tuple() if name in ("index", "count"):
            return Static(getattr(owner, name))
        case tuple() if not hasattr(owner, "_fields"):
            return _of_tuple(f, node, value, name)
        case _ if not hasattr(owner, name):
            return f.problem(node, f"`{getattr(owner, '__name__', owner)}` has no attribute `{name}`")
    getter_of(owner, name)
    f.program.reads.note_object(owner, name, getattr(owner, name))
    return f.program.wrap(getattr(owner, name))


@handles(ATTRIBUTES, TupleV, "tuple")
def _of_tuple(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    t = type_or_none(value)
    pair = len(value.items) == 2 if isinstance(value, TupleV) else isinstance(t, TupleT) and len(t.items) == 2
    if pair and name in PAIRS and not isinstance(value, Static):
        return (f.components(value) or [])[PAIRS[name]]
    if nothing_known(value):
        return unknown()
    if name in ("index", "count"):
        facts = [known(v) for v in f.components(value) or []]
        return Static(getattr(tuple(v for _, v in facts), name)) if all(k for k, _ in facts) else Method(value, name)
    if is_list(whole := as_list_of_tensors(f, value)):
        return Method(whole, name)
    if isinstance(value, Dyn):
        return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")
    return f.problem(node, f"a tuple has no `{name}` in the language", "index it, or take it apart")


@handles(ATTRIBUTES, "list", "varying tuple", "set", "dict")
def _method(f: Frame, node: ast.AST, value: Value, name: str) -> Value:
    if (cls := derived_class(f, value)) is not None and not hasattr(container_of(cls), name):
        assert isinstance(value, Dyn)
        found = class_attribute(f, node, value, (cls,), name)
        return f.problem(node, f"a `{cls.__name__}` has no `{name}` in the language") if found is None else found
    return Method(value, name)


@handles(ATTRIBUTES, Method)
def _of_method(f: Frame, node: ast.AST, value: Method, name: str) -> Value:
    return f.problem(node, f"the method `{value.name}` has no attributes in the language")
