"""Arguments of compiled functions: which of them share a function, and what the program passes for each when it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.types import Type
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import known, type_of
from backends.acrobat.frontend.specials import Closure, Keywords
from backends.acrobat.frontend.values import Dyn, Fixed, Special, Static, TupleV, Value
from backends.acrobat.ir import nodes as n


def fixed(value: Value) -> Value:
    """An argument, as for a library function: as a constant if it is a number, or a tuple of numbers, known at compile time.
    Those that a lambda sees are constants in it, too."""
    if isinstance(known(value)[1], (bool, int, float)):
        return Fixed(known(value)[1])
    if isinstance(value, TupleV) and value.items and all(isinstance(known(v)[1], (bool, int, float)) for v in value.items):
        return Static(tuple(known(v)[1] for v in value.items))
    if isinstance(value, Keywords):
        return type(value)(tuple((name, fixed(v)) for name, v in value.entries))
    if isinstance(value, Closure):
        defaults = tuple((name, fixed(v)) for name, v in value.defaults)
        return replace(value, env={name: fixed(v) for name, v in value.env.items()}, defaults=defaults)
    return value


def has_fixed(value: Value) -> bool:
    """Whether `fixed` has made a constant of a number, or of one among the arguments of a `**` parameter."""
    return isinstance(value, Fixed) or isinstance(value, Keywords) and any(has_fixed(v) for _, v in value.entries)


def owner_of(values: Sequence[Value]) -> Any:
    """The Python object whose method a function is, by its arguments: the one that the first of them stands for, or None."""
    return values[0].python_object if values and isinstance(values[0], Special) else None


def class_of(owner: Any) -> type | None:
    """The class of the object whose method a function is; None for other functions."""
    return None if owner is None else type(owner)


def signature(value: Value, is_alone: Callable[[Any], bool]) -> Any:
    """The key of an argument: calls of a function with equal keys share one compiled function. `is_alone` tells of a Python
    object that it shares its functions with no other one of its class. Raises Mismatch."""
    match value:
        case Fixed(v):
            return "fixed", exactly(v)
        case Dyn():
            return value.type
        case TupleV(items):
            return ("tuple", *(signature(v, is_alone) for v in items))
        case Static(v):
            # Numbers become parameters, so that a loop's counter does not make a function per value.
            if isinstance(v, (bool, int, float)):
                return type_of(value)
            return "static", exactly(v)
        case Special():
            key = value.signature(lambda inner: signature(inner, is_alone))
            object = value.python_object
            return (key, id(object)) if object is not None and is_alone(object) else key


def operands(f: Frame, value: Value) -> list[n.Atom]:
    """The operands that a call passes for an argument, one for each parameter that `parameter` makes."""
    match value:
        case Fixed():
            return []
        case TupleV(items):
            return [a for v in items for a in operands(f, v)]
        case Static(v) if not isinstance(v, (bool, int, float)):
            return []
        case Special():
            return value.operands(partial(operands, f))
    return [f.atom(value)]


def parameter(f: Frame, value: Value, name: str, params: list[n.Var]) -> Value:
    """The value that the called function has for an argument; the parameters that hold it are added to `params`."""

    def weight(tensor: str, type: Type) -> n.Var:
        params.append(n.Var(f.names.fresh(f"{name}.{tensor}"), type))
        f.weights.add(params[-1].name)
        return params[-1]

    match value:
        case Fixed(v):
            return Static(v)
        case TupleV(items):
            return TupleV(tuple(parameter(f, v, f"{name}_{i}", params) for i, v in enumerate(items)))
        case Static(v) if not isinstance(v, (bool, int, float)):
            return value
        case Special():
            return value.parameter(lambda inner: parameter(f, inner, name, params), weight)
    params.append(n.Var(f.names.fresh(name), type_of(value)))
    return Dyn(params[-1])
