"""The truth values of values, as `bool`, `if` and `while` take them."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, INT, ScalarT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import among, fail, is_none, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import by_type
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import (
    class_attribute,
    classes_here,
    names_in_class,
    number_of_class,
    owner_of,
)
from backends.acrobat.frontend.evaluator.tables import TRUTHS, handles
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import kind, nothing_known, type_or_none
from backends.acrobat.frontend.specials import Absent, Closure, Method, Nested, OneOf
from backends.acrobat.frontend.types import is_never_filled
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n


def condition(f: Frame, value: Value, node: ast.AST) -> Value:
    """`bool(value)` as a bool of the host; for a tensor of one element the instance waits. Problems are reported at `node`."""
    match value:
        case Static(v):
            return Static(bool(v))
        case TupleV(items):
            return Static(bool(items))
    if nothing_known(value):
        return unknown()
    handler = TRUTHS.get(kind(value))
    result = None if handler is None else handler(f, value, node)
    if result is not None:
        return result
    t = type_or_none(value)
    return f.problem(
        node, f"{describe(t)} has no truth value here" if isinstance(value, Dyn) else "this has no truth value here"
    )


@handles(TRUTHS, "number", "list", "varying tuple", "set", "dict")
def _number_or_list(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    match value.type:
        case ScalarT("bool"):
            return Static(value.atom.value) if isinstance(value.atom, n.Lit) else Dyn(value.atom)  # of a tensor, it is none
        case ScalarT(kind):
            if isinstance(value.atom, n.Lit):
                return Static(bool(value.atom.value))
            return f.host("ne", [value, Static(0 if kind == "int" else 0.0)], BOOL, "truth")
    if is_never_filled(value.type):
        return Static(False)
    return f.host("gt", [f.host("list.len", [value], INT, "size"), Static(0)], BOOL, "truth")


@handles(TRUTHS, "tuple")
def _of_tuple(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    return Static(bool(f.components(value)))


@handles(TRUTHS, "string")
def _not_empty(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    return f.host("ne", [value, Static("")], BOOL, "truth")


@handles(TRUTHS, "object")
def _optional(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    if f.mixed(value.type):
        return by_type(f, node, value, lambda _, inner: condition(f, inner, node))
    inner = optional(f, value)
    if inner is None:
        return _of_object(f, value, node)
    if always_true(f, inner):
        return is_none(f, value, negate=True)
    return open_optional(f, node, value, lambda some: condition(f, some, node), lambda: Static(False))


@handles(TRUTHS, OneOf)
def _of_one(f: Frame, value: OneOf, node: ast.AST) -> Value | None:
    def arm(each: Value) -> Value:
        if isinstance(each, Absent):
            return fail(f, each.text)
        return Static(True) if isinstance(each, (Method, Closure, Nested)) else condition(f, each, node)

    return among(f, node, value.index, [partial(arm, each) for each in value.alternatives])


TRUTH_METHODS = ("__bool__", "__len__")
"""The methods that Python asks for the truth of an object, the first that there is. Without one the object is true."""


def always_true(f: Frame, t: Any) -> bool:
    """Whether values of a type are objects without a truth value of their own, all of which count as true."""
    classes = f.program.datatypes.classes_of(t)
    return bool(classes) and not any(hasattr(c, name) or issubclass(c, RecordOf) for c in classes for name in TRUTH_METHODS)


def _of_object(f: Frame, value: Dyn, node: ast.AST) -> Value | None:
    """The truth of an object: what its `__bool__` gives, else whether its `__len__` is not 0."""
    if always_true(f, value.type):
        return Static(True)
    classes = classes_here(f, value)
    asked = [next((x for x in TRUTH_METHODS if hasattr(c, x)), "") for c in classes]
    methods = [class_attribute(f, node, value, (c,), name) for c, name in zip(classes, asked, strict=True)]
    if isinstance(methods[0], Method) and all(m == methods[0] for m in methods):
        return condition(f, f.call_with(methods[0].function, [owner_of(f, value, classes)]), node)

    def arm(cls: type, method: Value | None) -> Value:
        if isinstance(method, Method):
            return condition(f, f.call_with(method.function, [owner_of(f, value, (cls,))]), node)
        return Static(names_in_class(cls) != ())

    if any(name and m is None and not issubclass(c, tuple) for c, name, m in zip(classes, asked, methods, strict=True)):
        return None
    which = number_of_class(f, value, classes) if len(classes) > 1 else Static(0)
    return among(f, node, which, [partial(arm, c, m) for c, m in zip(classes, methods, strict=True)])
