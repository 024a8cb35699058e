"""The arguments of a call: binding them to parameters, and reading those that must be known at compile time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from backends.acrobat.frontend.values import Dyn, Special, Static, TupleV, Value
from backends.acrobat.ir import nodes as n

F = TypeVar("F")


class Refused(Exception):
    """Raised for source that is outside the language; carries the message and the advice of the problem."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message, self.advice = message, advice


class Unbound(Refused):
    """Raised for a call whose arguments are not those that the function takes, which is a TypeError in Python."""


class WrongShapes(Refused):
    """Raised for an operation on tensors of shapes that it does not take, which is a RuntimeError in PyTorch."""


class CallArguments:
    """The arguments of one call, bound by position or name as the caller wrote them."""

    def __init__(self, name: str, args: Sequence[Value], kwargs: dict[str, Value], implicit: int = 0) -> None:
        self.name, self.args, self.kwargs = name, list(args), dict(kwargs)
        self.implicit = implicit  # how many of `args` the caller did not write: `self`

    def bind(self, *names: str, **defaults: Any) -> list[Any]:
        """The values of the parameters `names`, in order; `defaults` has those that may be left out. Raises Unbound."""
        if len(self.args) > len(names):
            most, count = len(names) - self.implicit, len(self.args) - self.implicit
            raise Unbound(f"`{self.name}` takes at most {most} argument{'s' if most != 1 else ''} here, got {count}")
        bound = dict(zip(names, self.args, strict=False))
        for key, value in self.kwargs.items():
            if key not in names:
                raise Unbound(f"`{self.name}` has no argument `{key}` here")
            bound[key] = value
        out = []
        for name in names:
            if name in bound:
                out.append(bound[name])
            elif name in defaults:
                out.append(defaults[name])
            else:
                raise Unbound(f"`{self.name}` misses its argument `{name}`")
        return out


def defaults_of(definition: ast.FunctionDef, function: FunctionType) -> dict[str, Value]:
    """The default values of a function's parameters, by name."""
    places = [*definition.args.posonlyargs, *definition.args.args]
    written = zip(reversed(places), reversed(function.__defaults__ or ()), strict=False)
    values = {x.arg: v for x, v in written} | (function.__kwdefaults__ or {})
    return {name: Static(v) for name, v in values.items()}


def constant(value: Any, what: str) -> Any:
    """The Python value of an argument that must be known at compile time; `what` names it in messages. Raises Refused."""
    match value:
        case Dyn(n.Lit(v)):
            return v
        case Static(v):
            return v
        case TupleV(items):
            return tuple(constant(v, what) for v in items)
        case Dyn() | Special():
            raise Refused(f"{what} must be known at compile time", "use a literal or an int attribute of the module")
    return value


def is_constant(value: Any) -> bool:
    return isinstance(value, Static) or isinstance(value, Dyn) and isinstance(value.atom, n.Lit)


def each_as(
    f: F, change: Callable[[F, Value], Value], args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments of a call, each as `change(f, argument)` gives it."""
    return [change(f, v) for v in args], {k: change(f, v) for k, v in kwargs.items()}
