"""Expressions that make something new: nothing but the name that it gets refers to it, or to what is inside of it."""

from __future__ import annotations

import ast
import dataclasses
from collections import deque
from types import FunctionType
from typing import Any

from backends.acrobat.core.made_objects import computes_fields
from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.derived_containers import container_of, own_init
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, class_called, classes_of_type, objects_only
from backends.acrobat.frontend.evaluator.tables import GIVE_NEW, PARTED, VIEWED
from backends.acrobat.frontend.kinds import (
    holds_constant_list,
    is_array,
    is_container,
    is_held_tensor,
    is_object,
    type_inside,
    type_or_none,
)
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Static, Value

MAKERS = frozenset(
    {"list", "sorted", "deque", "set", "dict", "defaultdict", "Counter", "OrderedDict", "copy", "deepcopy", "tolist"}
)
"""Functions and methods that give a list, set or dictionary of their own, by name."""


def fresh(f: Frame, source: ast.expr, value: Any) -> bool:
    """Whether an expression makes a new list, set, dictionary or object, to which nothing else refers. `value` is its value."""
    match source:
        case ast.Constant(None):  # where it is merged with a new list, that may be changed
            return True
        case ast.Call() if source in f.given_new:
            return True
        case ast.Call() if is_object(value):
            new = getattr(value.atom, "name", "") in f.new_lists
            return new or class_called(f, source) is not None or f.callees.get(source) == Static(dict)  # `dict(record)`
        case ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp() | ast.List() | ast.ListComp():
            return True
        case ast.BinOp():
            return source not in f.callees  # an object's own method, such as `__add__`, may give what it has
        case ast.Subscript(slice=ast.Slice()):
            return not is_array(value) and not is_held_tensor(value)  # the slice of a tensor is a view
        case ast.Compare() | ast.UnaryOp():
            return is_held_tensor(value)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            own = calls_own_function(f, source)
            return name in MAKERS and not own or _is_of_derived(class_called(f, source))
        case ast.Call(CompiledNode()):
            return _is_of_derived(class_called(f, source))
        case ast.IfExp() | ast.BoolOp():
            return all(fresh(f, arm, value) for arm in _possible(f, source))
    return False


def _is_of_derived(cls: type | None) -> bool:
    """Whether a call of a derived class does nothing but make a list or dictionary."""
    return container_of(cls) is not None and own_init(cls) is None


def _possible(f: Frame, source: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    """The expressions one of which gives the value of a choice, as far as is known: of `xs or []` the second one, if `xs` is
    None."""
    test = source.test if isinstance(source, ast.IfExp) else source.values[0]
    with f.trial():
        value = f.expression(test)
    is_known = isinstance(value, Static) and (value.value is None or isinstance(value.value, bool))
    match source:
        case ast.IfExp(body=one, orelse=other):
            return [one if value.value else other] if is_known else [one, other]  # type: ignore[union-attr]
        case ast.BoolOp(ast.Or(), [_, other]) if is_known and not value.value:  # type: ignore[union-attr]
            return [other]
    return list(source.values)


def fresh_inside(f: Frame, source: ast.expr, type: Any = None) -> bool:
    """Whether nothing else refers to any changeable part of the value of an expression. `type` is the value's, if known."""
    if type is not None and not contains_unknown(type) and not changeable(f, type):
        return True
    if type is None and isinstance(source, (ast.List, ast.ListComp, ast.GeneratorExp, ast.BinOp)):
        with f.trial():
            type = type_inside(f.expression(source))
        if type is None or contains_unknown(type) or not changeable(f, type):
            return True  # nothing in it can be changed; or a later round knows, or the type is an error
    item = type.item if isinstance(type, ListT) else None
    match source:
        case ast.Call() if source in f.given_new:
            return True
        case ast.Constant() | ast.Compare() | ast.JoinedStr():
            return True
        case ast.Starred(spread):
            return fresh_inside(f, spread)
        case ast.List(elts) | ast.Set(elts):
            return all(fresh_inside(f, e, item) for e in elts)
        case ast.Tuple(elts):
            return all(fresh_inside(f, e) for e in elts)
        case ast.Dict(values=values):
            return all(fresh_inside(f, e) for e in values)
        case ast.ListComp(elt) | ast.GeneratorExp(elt):
            return item is not None and not contains_unknown(item) and not changeable(f, item) or _fresh_written(f, elt, item)
        case ast.DictComp(value=elt):
            return _fresh_written(f, elt, _value_type(type))
        case ast.BinOp(left, ast.Mult(), right) if isinstance(left, ast.List) or isinstance(right, ast.List):
            return _unchangeable_inside(f, left if isinstance(left, ast.List) else right, item)  # type: ignore[arg-type]
        case ast.BinOp(left, ast.Add(), right) if isinstance(type, ListT):
            plain = not contains_unknown(type) and not changeable(f, type.item)
            return fresh(f, source, None) and (plain or fresh_inside(f, left, type) and fresh_inside(f, right, type))
        case ast.IfExp() | ast.BoolOp():
            return all(fresh_inside(f, arm, type) for arm in _possible(f, source))
        case ast.Call(ast.Name("list" | "dict" | "set" | "deque"), []):
            return True
        case ast.Call(ast.Name("deepcopy") | ast.Attribute(attr="deepcopy" | "tolist")) if not calls_own_function(f, source):
            return True
        case ast.Call(ast.Name("defaultdict") | ast.Attribute(attr="defaultdict"), [ast.Name() | ast.Lambda()]):
            return True
        case ast.Call(_, args, keywords) if (cls := class_called(f, source)) is not None:
            if source in f.made_alone or source in f.made_apart:
                return True
            if _computes_attributes(cls):  # an `__init__` may put one list into two attributes
                return False
            named = all(k.arg is not None and fresh_inside(f, k.value) for k in keywords)
            if named and all(fresh_inside(f, e) for e in args):
                return True
            if not issubclass(cls, (list, set, dict, deque)):
                return False
    if type is not None:
        return (
            isinstance(type, ListT) and not contains_unknown(type) and not changeable(f, type.item) and fresh(f, source, None)
        )
    with f.trial():
        value = f.expression(source)
        inner = type_inside(value)
        if holds_constant_list(value) or f.as_object(value) is not value:
            return False  # the model refers to it
        if isinstance(source, (ast.Name, ast.Attribute, ast.Subscript)) and is_container(value):
            return False  # a name refers to it, also while it is empty and the type of its elements is not known
        return inner is None or contains_unknown(inner) or fresh_inside(f, source, inner)


def _unchangeable_inside(f: Frame, repeated: ast.List, item: Any) -> bool:
    """Whether the list that `[x] * n` repeats has nothing in it that can be changed; `item` is the type of `x`, if known."""
    plain = item is not None and not contains_unknown(item) and not changeable(f, item)
    return plain or all(isinstance(e, (ast.Constant, ast.UnaryOp)) for e in repeated.elts)


def _fresh_written(f: Frame, elt: ast.expr, type: Any) -> bool:
    """As `fresh_inside`, for an element of a comprehension. Its variables have no values here, so only the form of the element
    counts."""
    if type is not None and not contains_unknown(type) and not changeable(f, type):
        return True
    item = type.item if isinstance(type, ListT) else None
    if isinstance(type, ListT) and not contains_unknown(type) and not changeable(f, item) and fresh(f, elt, None):
        return True
    match elt:
        case ast.Constant():
            return True
        case ast.Tuple(elts) if isinstance(type, TupleT) and len(elts) == len(type.items):
            return all(_fresh_written(f, e, t) for e, t in zip(elts, type.items, strict=True))
        case ast.List(elts) | ast.Tuple(elts):
            return all(_fresh_written(f, e, item) for e in elts)
        case ast.ListComp(inner):
            return _fresh_written(f, inner, item)
        case ast.DictComp(value=inner):
            return _fresh_written(f, inner, _value_type(type))
        case ast.BinOp(left, ast.Mult(), right) if isinstance(left, ast.List) or isinstance(right, ast.List):
            return _unchangeable_inside(f, left if isinstance(left, ast.List) else right, item)  # type: ignore[arg-type]
        case ast.BinOp(left, ast.Add(), right):
            return _fresh_written(f, left, type) and _fresh_written(f, right, type)
        case ast.Dict(keys, values):
            return all(_fresh_written(f, e, _entry_type(f, type, key)) for key, e in zip(keys, values, strict=True))
        case ast.Call(ast.Name("list" | "dict" | "set" | "deque"), []):
            return True
        case ast.Call():
            return elt in f.given_new or class_called(f, elt) is not None and elt in f.made_alone | f.made_apart
    return False


def _entry_type(f: Frame, type: Any, key: ast.expr | None) -> Any:
    """The type of the entry under a key that is written out, of a dictionary of type `type`; None if that is not known."""
    classes = classes_of_type(f, type) if isinstance(type, DataT) else ()
    if len(classes) == 1 and isinstance(key, ast.Constant) and isinstance(key.value, str):
        return f.program.datatypes.fields.get((classes[0], key.value))
    return _value_type(type)


def _value_type(type: Any) -> Any:
    """The type of the values of a dictionary of type `type`; None if that is not known."""
    entry = type.item if isinstance(type, ListT) else None
    return entry.items[1] if isinstance(entry, TupleT) and len(entry.items) == 2 else None


def _computes_attributes(cls: type) -> bool:
    """Whether attributes of new objects of a class may hold values other than the arguments of the class."""
    if dataclasses.is_dataclass(cls):
        return computes_fields(cls)
    return isinstance(cls.__init__, FunctionType)  # type: ignore[misc]


def calls_own_function(f: Frame, call: ast.Call) -> bool:
    """Whether a call is, or may be, one of a function or method that the source defines."""
    return is_own_function(f.callees.get(call))


def is_own_function(callee: Value | None) -> bool:
    """Whether what is called is, or may be, a function or method that the source defines; None for what is not known."""
    match callee:
        case Static(FunctionType() as function):
            return function.__module__.partition(".")[0] not in ("torch", "copy")
        case Static():
            return False
        case Method(function=function):
            return function is not None
    return True


def lists_alone(f: Frame, source: ast.expr, value: Value) -> bool:
    """Whether nothing else refers to the lists in the value of an expression, or in its parts, outside of objects."""
    t = type_or_none(value)
    return objects_only(f, t) or isinstance(t, ListT) and objects_only(f, t.item) and fresh(f, source, value)


def gives_new_memory(f: Frame, source: ast.expr) -> bool:
    """Whether each tensor that an expression gives shares no memory with anything else, as those of `torch.topk`."""
    if isinstance(source, (ast.IfExp, ast.BoolOp)):
        return all(gives_new_memory(f, arm) for arm in _possible(f, source))
    return any(rule(f, source) for rule in GIVE_NEW)


def viewed(f: Frame, source: ast.expr) -> str | None:
    """The name of the tensor of which an expression gives a view, such as `x.view(-1)`; None for other expressions."""
    return next((name for rule in VIEWED if (name := rule(f, source)) is not None), None)


def shown_by(f: Frame, source: ast.expr) -> list[str]:
    """The names of the tensors of one of which an expression gives a view; a choice may be between views of several."""
    arms = [source.body, source.orelse] if isinstance(source, ast.IfExp) else [source]
    return [name for arm in arms if (name := viewed(f, arm)) is not None]


def parted(f: Frame, source: ast.expr) -> ast.expr | None:
    """The expression of a tensor that a call divides, such as `x.chunk(2)` and `x.unbind()`; None for other expressions."""
    return next((whole for rule in PARTED if (whole := rule(f, source)) is not None), None)
