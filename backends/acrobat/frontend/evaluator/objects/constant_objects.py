"""Constant objects as values of the program: one of several in a list or dictionary that is chosen at run time, or a field of
an object that the model makes. `PRODUCTIONS[kind]` is such a list where `kind` is known at run time only."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.constant_graphs import reference, refers
from backends.acrobat.frontend.evaluator.objects.construction import new_object
from backends.acrobat.frontend.evaluator.tables import STAGED
from backends.acrobat.frontend.values import Static, Value


def _as_object(f: Frame, value: Value) -> Value | None:
    """An object of a class of the source, with what it has in its fields, as if the model had made it; None for other
    constants, and for objects that are inside of themselves."""
    if not isinstance(value, Static):
        return None
    if refers(f, value.value):
        return reference(f, value.value)
    names = _fields(value.value)
    if names is None or _is_inside_itself(value.value, ()):
        return None
    x, cls, datatypes = value.value, type(value.value), f.program.datatypes
    if not dataclasses.is_dataclass(x):
        if cls in datatypes.seen and not isinstance(x, tuple) or {*datatypes.made.get(cls, names)} != {*names}:
            return None
        names = list(datatypes.made.get(cls, names))
    values: dict[str, Value] = {}
    for name in names:
        f.program.reads.note_object(x, name, getattr(x, name))
        values[name] = f.staged(f.program.wrap(getattr(x, name)))
    union = datatypes.union_of(cls) if dataclasses.is_dataclass(x) else datatypes.union_of_made(cls, names)
    if datatypes.is_referenced(union):
        what = f"a `{cls.__name__}` of the source stands beside such that the model makes and changes under several names"
        raise Refused(what, "make it in the model")
    return new_object(f, ast.Pass(), cls, DataT(union), values)


def _fields(x: Any) -> list[str] | None:
    """The names of an object's fields; None for what is no plain object of a class that the source defines, and no named
    tuple."""
    if isinstance(x, type) or callable(x):  # one of several functions is chosen as such
        return None
    if dataclasses.is_dataclass(x):
        names = [field.name for field in dataclasses.fields(x)]
        return names if all(field.init for field in dataclasses.fields(x)) and {*vars(x)} == {*names} else None
    if isinstance(x, tuple):
        return list(getattr(x, "_fields", ())) or None
    plain = type(x).__mro__[-2:] == (type(x), object) and isinstance(vars(type(x)).get("__init__"), types.FunctionType)
    return list(vars(x)) if plain and "__slots__" not in vars(type(x)) else None


def _is_inside_itself(x: Any, around: Sequence[int]) -> bool:
    """Whether a constant contains itself, or one of the objects `around` it."""
    if id(x) in around:
        return True
    if isinstance(x, (list, tuple)) and _fields(x) is None:
        inside: Sequence[Any] = x
    elif isinstance(x, dict):
        inside = list(x.values())
    else:
        inside = [getattr(x, name) for name in _fields(x) or ()]
    return any(_is_inside_itself(part, (*around, id(x))) for part in inside)


STAGED.append(_as_object)
