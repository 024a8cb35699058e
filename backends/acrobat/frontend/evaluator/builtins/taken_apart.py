"""Objects as dictionaries and tuples of what is in their fields: `asdict` and `astuple`, and `_asdict` of named tuples; and the
fields themselves, `fields` of dataclasses."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from functools import partial

from backends.acrobat.core.types import LIST, DataT
from backends.acrobat.frontend.evaluator.choices.choice import open_optional, optional
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import dict_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.objects.fields import field
from backends.acrobat.frontend.evaluator.ownership.lending import types_inside
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import (
    as_kind,
    in_python,
    is_unknown,
    kind,
    nothing_known,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown
from backends.acrobat.library import words

Make = Callable[[Frame, ast.AST, dict[str, Value]], Value]


def _in_order(f: Frame, node: ast.AST, fields: dict[str, Value]) -> Value:
    return TupleV(tuple(fields.values()))


def _class_of(f: Frame, value: Value, around: frozenset[type]) -> type | None:
    """The class of a dataclass's object; None for other values. Raises Refused."""
    classes = f.program.datatypes.classes_of(type_or_none(value))
    if not any(map(dataclasses.is_dataclass, classes)):
        return None
    if len(classes) > 1 or classes[0] in around:
        what = "objects of several classes" if len(classes) > 1 else "objects with others of their class in them"
        raise Refused(f"{what} are taken apart here", "write a method that gives what is needed of them")
    return classes[0]


def _taken_apart(f: Frame, node: ast.AST, make: Make, value: Value, around: frozenset[type] = frozenset()) -> Value:
    """A value in which objects of dataclasses are replaced by what `make` gives for their fields, on all levels."""
    inner = partial(_taken_apart, f, node, make, around=around)
    if nothing_known(value):
        return unknown()
    if isinstance(value, Dyn) and optional(f, value) is not None:
        return open_optional(f, node, value, inner, lambda: Static(None))
    if isinstance(value, TupleV) or kind(value) == "tuple":
        parts = tuple(map(inner, f.components(value) or ()))
        return dataclasses.replace(value, items=parts) if isinstance(value, TupleV) else TupleV(parts)
    if kind(value) in ("list", "varying tuple", "dict") and not is_unknown(value) and _has_dataclass(f, type_of(value)):
        rows = mapped(f, [as_kind(value, LIST)], inner)
        return rows if is_unknown(rows) else as_kind(rows, type_of(value).kind)
    cls = _class_of(f, value, around)
    if cls is None:
        return value
    assert isinstance(value, Dyn)
    of_part = partial(_taken_apart, f, node, make, around=around | {cls})
    return make(f, node, {x.name: of_part(field(f, node, value, x.name)) for x in dataclasses.fields(cls)})


def _has_dataclass(f: Frame, t: object) -> bool:
    classes = (c for x in types_inside(f, [t]) if isinstance(x, DataT) for c in f.program.datatypes.cases.get(x.name, ()))
    return any(map(dataclasses.is_dataclass, classes))


def _function(name: str, make: Make, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (value,) = CallArguments(name, args, kwargs).bind("obj")
    if not nothing_known(value) and _class_of(f, value, frozenset()) is None:
        return f.problem(node, f"`{name}` takes an object of a dataclass")
    result = _taken_apart(f, node, make, value)
    if variable := variable_of(result):
        f.new_lists |= {variable, deep(variable)}
    return result


FUNCTIONS[dataclasses.asdict] = partial(_function, "asdict", dict_of)
FUNCTIONS[dataclasses.astuple] = partial(_function, "astuple", _in_order)


@handles(FUNCTIONS, dataclasses.fields)
def _fields(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """The fields of a dataclass, or of an object of one, are constants. (Loops over those of an object that may be of several
    classes are compiled for each, `loops/each_class.py`.)"""
    (value,) = CallArguments("fields", args, kwargs).bind("class_or_instance")
    if nothing_known(value):
        return unknown()
    classes = f.program.datatypes.classes_of(type_or_none(value))
    whole = in_python(value) if isinstance(value, Static) else classes[0] if classes else None
    if not dataclasses.is_dataclass(whole):
        return f.problem(node, "`fields` takes a dataclass or an object of one")
    if len({dataclasses.fields(c) for c in classes if dataclasses.is_dataclass(c)}) > 1:
        raise Refused("the fields of an object of several classes are walked over here", "write `for x in fields(...)`")
    return TupleV(tuple(map(Static, dataclasses.fields(whole))))


@handles(FUNCTIONS, words.fields_by_name)
def _of_named_tuple(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`_asdict()` of a named tuple of one class."""
    (value,) = args
    if nothing_known(value):
        return unknown()
    assert isinstance(value, Dyn) and isinstance(value.type, DataT)
    classes = f.program.datatypes.cases[value.type.name]
    if len(classes) > 1:
        raise Refused("named tuples of several classes are taken apart here", "ask for the class before")
    result = dict_of(f, node, {x: field(f, node, value, x) for x in classes[0]._fields})  # type: ignore[attr-defined]
    if variable := variable_of(result):
        f.new_lists.add(variable)
    return result
