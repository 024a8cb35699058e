"""Attributes that keep a module, function, class or lambda: `Visitor(self)`, whose `__init__` keeps the model.

What they have is known at compile time: a read of the attribute gives it, in every function, and where all objects of the class
have the same one they hold nothing. Where they have different ones, as `Stack(self.words)` and `Stack(self.actions)` do, each
holds the number of its own among them.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.syntax.hidden_names import is_hidden
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Closure, Method, OneOf
from backends.acrobat.frontend.syntax_nodes import mentions, parameter_names, place_of
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
    at = next((i for i, other in enumerate(constants) if _are_same(constant, other)), len(constants))
    if at == len(constants):
        constants.append(constant)
        if len(constants) > 1:
            datatypes.fields[cls, name] = UNKNOWN
            datatypes.changed = True
    return Held("constant", Static(at) if len(constants) > 1 else Static(()))


def _are_same(one: Value, other: Value) -> bool:
    """Whether two such values are the same: of lambdas one that is written in one place and sees the same."""
    if not isinstance(one, Closure) or not isinstance(other, Closure):
        return one == other
    places = [(x.file, *place_of(x.node)) for x in (one, other)]
    return places[0] == places[1] and (one.env, one.defaults) == (other.env, other.defaults)


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


def _keeps_its_value(function: Any, name: str) -> bool:
    """Whether a name of the function in which a lambda stands is given a value once: the lambda sees the value that it has when
    it is called."""
    if not isinstance(function, FunctionType):
        return False
    definition = source_of(function)[0]
    stored = mentions(definition, name, ast.Store)
    at_top = (t for s in definition.body if isinstance(s, ast.Assign) for t in s.targets)
    return not stored or len(stored) == 1 and any(t is stored[0] for t in at_top) and name not in parameter_names(definition)


def _same_everywhere(f: Frame, value: Value) -> Value | None:
    """A module, function, class or method in the form that is valid in every function of the program, or a lambda that sees
    such only; None for other values. A module that is an argument has one from the next round of compiling on: then the
    function is compiled for each such module."""
    match value:
        case Static(v):
            return value if callable(v) else None
        case Closure(env=names):
            if not all(_keeps_its_value(value.function, name) for name in names):
                return None
            seen = {name: x if is_hidden(name) else _same_everywhere(f, x) for name, x in names.items()}
            return None if None in seen.values() else replace(value, env=seen, ended=True)
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
