"""The table of operations on tensors, by the names that torch gives them, and those that work element by element."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

import torch

from backends.acrobat.frontend.evaluator.arguments import Call, Refused, constant
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.tensors.lifting import elementwise, in_place, op
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.types import describe
from backends.acrobat.frontend.values import Dyn, Static, Value, is_ragged, is_tensor, nothing_known, type_or_none, unknown

Operation = Callable[[Frame, Call], Value]
OPERATIONS: dict[str, Operation] = {}
"""Operations by the names of torch's functions and of the methods of tensors: on tensors of fixed shape."""
RAGGED: dict[str, Callable[[Frame, Call], Value | None]] = {}
"""The same with an operand of which an extent varies; None where there is no rule for such arguments."""
WITHOUT: set[str] = set()
"""Operations whose first argument is no tensor."""
IN_PLACE: set[str] = set()
"""Operations whose name with a `_` is that of a method which changes its tensor."""


def operation(*names: str, of_tensor: bool = True) -> Callable[[Operation], Operation]:
    """Decorates what an operation of these names does; `of_tensor`: its first argument is a tensor."""
    if not of_tensor:
        WITHOUT.update(names)
    return handles(OPERATIONS, *names)


def ragged(*names: str) -> Callable[[Callable[[Frame, Call], Value | None]], Callable[[Frame, Call], Value | None]]:
    """Decorates what operations of these names do with an operand of which an extent varies."""
    return handles(RAGGED, *names)


def call_operation(f: Frame, name: str, call: Call) -> Value:
    """`torch.<name>(...)` or `<tensor>.<name>(...)` with the tensor as first argument. Raises Refused."""
    if name.endswith("_") and name[:-1] in IN_PLACE and call.args:
        rest = call.args[1:]
        again = partial(Call, name, kwargs=call.kwargs, implicit=call.implicit)
        return in_place(f, call.args[0], lambda x: call_operation(f, name[:-1], again([x, *rest])))
    handler = OPERATIONS.get(name)
    if handler is None and name not in RAGGED:
        raise Refused(f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations")
    if any(nothing_known(v) for v in (*call.args, *call.kwargs.values())):
        return unknown()
    if any(is_ragged(v) for v in (*call.args, *call.kwargs.values())):
        if "input" in call.kwargs and not call.args:
            call.args = [call.kwargs.pop("input")]
        found = RAGGED[name](f, call) if name in RAGGED else None
        if found is not None:
            return found
        if name not in WITHOUT:
            raise Refused(f"`{name}` of a tensor whose extent varies between instances is not in the language")
    elif name not in WITHOUT:
        _tensor_first(call)
    if handler is None:
        raise Refused(f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations")
    return handler(f, call)


def _tensor_first(call: Call) -> None:
    first = call.args[0] if call.args else call.kwargs.get("input", call.kwargs.get("self"))
    if isinstance(first, HostTensor):
        raise Refused(first.refusal)
    if not is_tensor(first) and not is_ragged(first):
        t = None if first is None else type_or_none(first)
        raise Refused(f"`{call.name}` takes a tensor" + (f", not {describe(t)}" if t is not None else ""))


# ---- element by element


def _element_wise(names: dict[str, str], arguments: Sequence[str]) -> None:
    """Operations that one operation of the IR does, element by element."""

    def add(name: str, of_ir: str) -> None:
        @operation(name)
        def dense(f: Frame, call: Call) -> Value:
            return op(f, of_ir, call.bind(*arguments))

        @ragged(name)
        def each(f: Frame, call: Call) -> Value:
            operands = call.args[:1] if len(arguments) == 1 else call.bind(*arguments)
            kwargs = call.kwargs if len(arguments) == 1 else {}
            return elementwise(f, operands, lambda v: call_operation(f, name, Call(name, list(v), kwargs)))

    for name, of_ir in names.items():
        IN_PLACE.add(name)
        add(name, of_ir)


_element_wise(
    {name: name for name in ("sigmoid", "tanh", "relu", "exp", "log", "sqrt", "neg")} | {"negative": "neg"}, ["input"]
)
_element_wise(
    {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div", "divide": "div"}
    | {"true_divide": "div", "maximum": "maximum", "minimum": "minimum"},
    ["input", "other"],
)


@ragged("gelu", "square", "rsqrt")
def _each(f: Frame, c: Call) -> Value:
    return elementwise(f, c.args[:1], lambda v: call_operation(f, c.name, Call(c.name, list(v), c.kwargs)))


@operation("gelu")
def _gelu(f: Frame, call: Call) -> Dyn:
    x, approximate = call.bind("input", "approximate", approximate=Static("none"))
    if constant(approximate, "approximate") != "none":
        raise Refused("only the exact gelu is an operation of the language")
    return op(f, "gelu", [x])


@operation("rsqrt")
def _rsqrt(f: Frame, call: Call) -> Dyn:
    (x,) = call.bind("input")
    return op(f, "div", [Static(1.0), op(f, "sqrt", [x])])


@operation("square")
def _square(f: Frame, call: Call) -> Dyn:
    (x,) = call.bind("input")
    return op(f, "mul", [x, x])


@handles(FUNCTIONS, torch.nn.functional.relu)
def _relu(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`torch.nn.functional.relu`, which can also change its operand."""
    x, inplace = Call("relu", args, kwargs).bind("input", "inplace", inplace=Static(False))
    if constant(inplace, "inplace"):
        return in_place(f, x, lambda x: op(f, "relu", [x]))
    return call_operation(f, "relu", Call("relu", [x], {}))
