"""Attributes with one module, function or class in all objects of a class: `Visitor(self)`, whose `__init__` keeps the model.

What they have is known at compile time: a read of the attribute gives it, in every function, and the objects hold nothing.
"""

from __future__ import annotations

from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import CONSTANT, Mismatch
from backends.acrobat.frontend.values import Special, Static, Value


def keeps_constant(f: Frame, cls: type, name: str, value: Value) -> bool:
    """Whether a field of an object that the model makes gets a module, function or class, which is noted. Raises Mismatch where
    other objects of the class have another one in it."""
    datatypes = f.program.datatypes
    constant = None if cls in datatypes.seen else _same_everywhere(f, value)
    if constant is None:
        return False
    if datatypes.constants.setdefault((cls, name), constant) != constant:
        raise Mismatch("it has one module or function in all objects, which is known at compile time, and here another one")
    return True


def constant_field(f: Frame, cls: type, name: str) -> Value | None:
    """The module, function or class that all objects of a class have in a field; None for other fields."""
    datatypes = f.program.datatypes
    return datatypes.constants.get((cls, name)) if datatypes.field_type(cls, name) == CONSTANT else None


def _same_everywhere(f: Frame, value: Value) -> Value | None:
    """A module, function, class or method as every function of the program knows it; None for other values. One that is an
    argument is none: the function is compiled once for several modules."""
    match value:
        case Static(v):
            return value if callable(v) else None
        case Method(owner):
            return value if _same_everywhere(f, owner) is not None else None
        case Special(python_object=held) if held is not None:
            try:
                found = f.program.wrap(held)
            except Refused:
                return None
            return found if found == value else None
    return None
