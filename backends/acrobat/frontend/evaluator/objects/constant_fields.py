"""Attributes that keep a module, function or class: `Visitor(self)`, whose `__init__` keeps the model.

What they have is known at compile time: a read of the attribute gives it, in every function, and where all objects of the class
have the same one they hold nothing. Where they have different ones, as `Stack(self.words)` and `Stack(self.actions)` do, each
holds the number of its own among them.
"""

from __future__ import annotations

from dataclasses import replace

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.types import CONSTANT, UNKNOWN
from backends.acrobat.frontend.values import Dyn, Held, Special, Static, Value


def kept_constant(f: Frame, cls: type, name: str, value: Value) -> Held | None:
    """What an object that the model makes holds in a field which gets a module, function or class; that one is noted. None for
    fields that get something else."""
    datatypes = f.program.datatypes
    if cls in datatypes.seen:
        return None
    if isinstance(value, OneOf) and value.alternatives == tuple(datatypes.constants.get((cls, name), ())):
        return Held("constant", value.index)  # an object made of another one
    constant = _same_everywhere(f, value)
    if constant is None:
        return None
    constants = datatypes.constants.setdefault((cls, name), [])
    if constant not in constants:
        constants.append(constant)
        if len(constants) > 1:
            datatypes.fields[cls, name] = UNKNOWN
            datatypes.changed = True
    return Held("constant", Static(constants.index(constant)) if len(constants) > 1 else Static(()))


def constant_field(f: Frame, cls: type, name: str) -> Value | None:
    """The module, function or class that all objects of a class have in a field; None for other fields."""
    if f.program.datatypes.field_type(cls, name) != CONSTANT:
        return None
    constants: list[Value] = f.program.datatypes.constants[cls, name]
    return constants[0] if len(constants) == 1 else None


def as_constant(f: Frame, classes: list[type], name: str, value: Value) -> Value:
    """A field of objects of these classes, read as `value`: if it keeps modules or functions, the one that `value` numbers,
    else `value`. Raises Refused if the classes keep different ones."""
    if not isinstance(value, Held) or value.kind != "constant" or not isinstance(value.value, Dyn):
        return value
    first, *others = [f.program.datatypes.constants.get((c, name), []) for c in classes]
    if any(constants != first for constants in others):
        raise Refused(f"objects of several classes keep different modules or functions in `{name}`", "ask for the class before")
    return OneOf(value.value, tuple(first))


def _same_everywhere(f: Frame, value: Value) -> Value | None:
    """A module, function, class or method in the form that is valid in every function of the program; None for other values. A
    module that is an argument has one from the next round of compiling on: then the function is compiled for each such
    module."""
    match value:
        case Static(v):
            return value if callable(v) else None
        case Method(owner):
            result = _same_everywhere(f, owner)
            return None if result is None else replace(value, owner=result)
        case Special(python_object=held) if held is not None:
            try:
                result = f.program.wrap(held)
            except Refused:
                return None
            return result if result == value or f.program.keep_apart(held) else None
    return None
