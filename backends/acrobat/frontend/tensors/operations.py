"""The table of operations on tensors, by torch's names for them, and the operations that work element by element."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import partial

import torch

from backends.acrobat import library
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import fail, open_optional, optional
from backends.acrobat.frontend.evaluator.choices.mixed import is_tensor_or_text
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import item_type
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_list, is_number, is_ragged, is_tensor, known, nothing_known, type_or_none
from backends.acrobat.frontend.refusals import refusal
from backends.acrobat.frontend.tensors.dtypes import as_floats
from backends.acrobat.frontend.tensors.in_place import in_place
from backends.acrobat.frontend.tensors.ints import arithmetic, computed, is_ints, moved
from backends.acrobat.frontend.tensors.lifting import ADDS_NOTHING, elementwise, is_numbers, op, shape
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, is_placeholder, unknown

Operation = Callable[[Frame, CallArguments], Value]
OPERATIONS: dict[str, Operation] = {}
"""Operations by the names of torch's functions and of the methods of tensors: on tensors of fixed shape."""
RAGGED: dict[str, Callable[[Frame, CallArguments], Value | None]] = {}
"""The same for calls with a ragged operand. A handler returns None where it has no rule for the arguments."""
NOT_OF_TENSOR: set[str] = set()
"""Operations whose first argument is no tensor."""
IN_PLACE: set[str] = set()
"""Operations that torch also has as a method with a `_` at the end, which changes its tensor in place."""


def operation(*names: str, of_tensor: bool = True) -> Callable[[Operation], Operation]:
    """Register a handler of operations on tensors of fixed shape. `of_tensor`: the first argument must be a tensor."""
    if not of_tensor:
        NOT_OF_TENSOR.update(names)
    return handles(OPERATIONS, *names)


def ragged(
    *names: str,
) -> Callable[[Callable[[Frame, CallArguments], Value | None]], Callable[[Frame, CallArguments], Value | None]]:
    """Register a handler of operations with a ragged operand."""
    return handles(RAGGED, *names)


def either(*names: str, of_tensor: bool = True) -> Callable[[Operation], Operation]:
    """Register a handler of operations on tensors of fixed shape and on ragged ones."""

    def register(handler: Operation) -> Operation:
        handles(RAGGED, *names)(handler)
        return operation(*names, of_tensor=of_tensor)(handler)

    return register


OF_NUMBERS = {
    "view",
    "reshape",
    "flatten",
    "unsqueeze",
    "squeeze",
    "transpose",
    "t",
    "permute",
    "contiguous",
    "detach",
    "clone",
}
OF_NUMBERS |= {"float", "bool", "to", "type_as", "size", "dim", "numel", "cat", "concat", "concatenate"}
OF_NUMBERS |= {"expand", "expand_as", "repeat", "eq", "ne", "not_equal", "lt", "less", "le", "less_equal"}
OF_NUMBERS |= {"gt", "greater", "ge", "greater_equal"}
OF_NUMBERS |= {"where", "masked_fill", "maximum", "minimum", "add", "sub", "mul", "div", "zeros_like", "ones_like", "full_like"}
OF_NUMBERS |= {"triu", "tril"}
"""The operations that take tensors of numbers which the host has, with dimensions of extent 1 around the varying one."""


SCALED = {"add", "sub", "subtract"}
"""The operations that multiply their second operand by an argument `alpha`."""


def call_operation(f: Frame, name: str, call: CallArguments, node: ast.AST | None = None) -> Value:
    """`torch.<name>(...)` or `<tensor>.<name>(...)` with the tensor as first argument. `node` is the call in the source, where
    it may change its tensor in place. Raises Refused."""
    if name.endswith("_") and name[:-1] in IN_PLACE and call.args:
        rest = call.args[1:]
        again = partial(CallArguments, name, kwargs=call.kwargs, implicit=call.implicit)
        return in_place(f, call.args[0], lambda x: call_operation(f, name[:-1], again([x, *rest])), node)
    call.args = [sure(f, v) for v in call.args]
    call.kwargs = {k: sure(f, v) for k, v in call.kwargs.items()}
    if name in SCALED and "alpha" in call.kwargs:
        x, other, alpha = call.bind("input", "other", "alpha")
        call.args, call.kwargs = [x, f.expression(ast.BinOp(CompiledNode(other), ast.Mult(), CompiledNode(alpha)))], {}
    result = moved(f, name, call)
    if result is not None:
        return result
    handler = OPERATIONS.get(name)
    if handler is None and name not in RAGGED:
        raise Refused(*refusal(name, f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations"))
    if any(nothing_known(v) for v in (*call.args, *call.kwargs.values())):
        return unknown()
    if any(is_ragged(v) for v in (*call.args, *call.kwargs.values())):
        if "input" in call.kwargs and not call.args:
            call.args = [call.kwargs.pop("input")]
        around = any(is_numbers(v) and len(shape(v)) > 1 for v in (*call.args, *call.kwargs.values()))
        if around and name not in OF_NUMBERS:
            given = next(v for v in (*call.args, *call.kwargs.values()) if is_numbers(v) and len(shape(v)) > 1)
            what = f"`{name}` of {describe(type_or_none(given))} is not in the language"
            raise Refused(what, "index its dimensions of extent 1 first, as in `x[0]`")
        of_ragged = RAGGED[name](f, call) if name in RAGGED else None
        if of_ragged is not None:
            return of_ragged
        if name not in NOT_OF_TENSOR:
            raise Refused(f"`{name}` of a tensor whose extent varies between instances is not in the language")
    elif name not in NOT_OF_TENSOR:
        if call.args and is_placeholder(call.args[0]) and is_number(call.args[0]):
            f.program.incomplete = True  # such as a sum of what a later round knows to be tensors
            return unknown()
        _tensor_first(call)
    if handler is None:
        raise Refused(*refusal(name, f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations"))
    return handler(f, call)


def sure(f: Frame, value: Value) -> Value:
    """An optional tensor or list of tensors, or a tensor beside strings and objects, as what it must be at run time (else it is
    an error of the instance), and so the items of a list of optional tensors; other values unchanged."""
    if is_tensor_or_text(f.mixed(f.without_none(type_or_none(value)))):
        return opened(f, ast.Pass(), value, types=("tensor",))
    inner = optional(f, value)
    if isinstance(inner, (TensorT, ListT)):
        assert isinstance(value, Dyn)
        text = f"TypeError: None in the place of a {'list' if is_list(guess(inner)) else 'tensor'}"
        value = open_optional(f, ast.Pass(), value, lambda some: some, lambda: fail(f, text), "given")
    if is_list(value) and isinstance(value, Dyn) and isinstance(optional(f, guess(item_type(value))), TensorT):
        return mapped(f, [value], lambda item: sure(f, item))
    return value


def _tensor_first(call: CallArguments) -> None:
    first = call.args[0] if call.args else call.kwargs.get("input", call.kwargs.get("self"))
    if isinstance(first, HostTensor):
        raise Refused(first.refusal)
    if not is_tensor(first) and not is_ragged(first):
        t = None if first is None else type_or_none(first)
        tensors = isinstance(t, ListT) and isinstance(t.item, TensorT)
        advice = "`torch.stack(xs)` makes one tensor of a list `xs` of tensors, `[f(x) for x in xs]` takes each by itself"
        what = f"`{call.name}` takes a tensor" + (f", not {describe(t)}" if t is not None else "")
        raise Refused(what, advice if tensors else "")


# ---- element by element


def _element_wise(names: dict[str, str], arguments: Sequence[str]) -> None:
    """Register element-wise operations: `names` maps torch's names to operations of the IR, `arguments` are the parameters."""

    def add(name: str, of_ir: str) -> None:
        @operation(name)
        def dense(f: Frame, call: CallArguments) -> Value:
            return op(f, of_ir, call.bind(*arguments))

        @ragged(name)
        def each(f: Frame, call: CallArguments) -> Value:
            whole = arithmetic(f, name, *call.bind(*arguments)) if len(arguments) == 2 and len(call.args) == 2 else None
            if whole is not None:
                return whole
            if len(arguments) > 1:
                return op(f, of_ir, call.bind(*arguments))
            return elementwise(f, call.args[:1], lambda v: call_operation(f, name, CallArguments(name, list(v), call.kwargs)))

    for name, of_ir in names.items():
        IN_PLACE.add(name)
        add(name, of_ir)


_element_wise(
    {name: name for name in ("sigmoid", "tanh", "relu", "exp", "log", "sqrt", "neg", "floor", "sin", "cos")}
    | {"negative": "neg"},
    ["input"],
)
_element_wise(
    {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div", "divide": "div"}
    | {"true_divide": "div", "maximum": "maximum", "minimum": "minimum"},
    ["input", "other"],
)


@either("bitwise_and", "bitwise_or", "bitwise_xor")
def _of_bits(f: Frame, call: CallArguments) -> Value:
    """`torch.bitwise_and` and the like of tensors of ints; of masks they are in `mask_operations`."""
    result = arithmetic(f, call.name, *call.bind("input", "other"))
    if result is None:
        raise Refused(f"`{call.name}` takes tensors of ints, or masks")
    return result


@ragged("gelu", "square", "rsqrt")
def _each(f: Frame, c: CallArguments) -> Value:
    if c.name == "square" and _of_ints(c.args[0]):
        return _power_of_ints(f, c.args[0], Static(2))
    return elementwise(f, c.args[:1], lambda v: call_operation(f, c.name, CallArguments(c.name, list(v), c.kwargs)))


@operation("gelu")
def _gelu(f: Frame, call: CallArguments) -> Dyn:
    x, approximate = call.bind("input", "approximate", approximate=Static("none"))
    if constant(approximate, "approximate") == "none":
        return op(f, "gelu", [x])
    cube = op(f, "mul", [op(f, "mul", [x, x]), op(f, "mul", [x, Static(0.044715)])])
    inner = op(f, "tanh", [op(f, "mul", [op(f, "add", [x, cube]), Static(math.sqrt(2.0 / math.pi))])])
    return op(f, "mul", [op(f, "mul", [x, Static(0.5)]), op(f, "add", [inner, Static(1.0)])])


@either("pow", of_tensor=False)
def power(f: Frame, call: CallArguments) -> Value:
    """`pow`: products for a constant whole exponent, a root for 0.5, else exp(exponent * log(base)). Raises Refused."""
    base, exponent = call.bind("input", "exponent")
    if _of_ints(base) and not is_number(base) or _of_ints(exponent) and isinstance(known(base)[1], int):
        return _power_of_ints(f, base, exponent)
    if computed(exponent):
        exponent = as_floats(f, exponent)
    is_known, number = known(exponent)
    if is_known:
        return _constant_power(f, base, float(number))
    is_known, number = known(base)
    if is_known:
        if number <= 0:
            raise Refused("a power of a constant needs a positive one")
        return op(f, "exp", [op(f, "mul", [exponent, Static(math.log(number))])])
    return f.call_with(library.FUNCTIONS["power"], [base, exponent])


def _of_ints(x: Value) -> bool:
    return is_ints(x) or computed(x)


def _power_of_ints(f: Frame, base: Value, exponent: Value) -> Value:
    """Products of a tensor of ints for a constant int as exponent, a power of floats for one of floats. Raises Refused."""
    is_known, number = known(exponent)
    if is_known and isinstance(number, int) and 1 <= number <= 64:
        result: Value | None = base
        for _ in range(number - 1):
            result = arithmetic(f, "mul", result, base)
        if result is not None:
            return result
    if _of_ints(exponent) or is_known and isinstance(number, int):
        raise Refused("a power of ints is one by a constant int from 1 to 64 here", "write a product, or `.float()` before it")
    return power(f, CallArguments("pow", [as_floats(f, base), exponent], {}))


def _constant_power(f: Frame, base: Value, exponent: float) -> Value:
    if exponent == 0.0:
        return op(f, "add", [op(f, "mul", [op(f, "equal", [base, base]), Static(0.0)]), Static(1.0)])
    if exponent < 0:
        return op(f, "div", [Static(1.0), _constant_power(f, base, -exponent)])
    if exponent == 1.0:
        return op(f, "mul", [base, Static(1.0)])
    if exponent == int(exponent) and exponent <= 64:
        half = base if exponent < 4 else _constant_power(f, base, float(int(exponent) // 2))
        square = op(f, "mul", [half, half])
        return op(f, "mul", [square, base]) if int(exponent) % 2 else square
    if exponent == int(exponent):
        raise Refused("a constant exponent above 64 is not in the language", "take a power of a power")
    if exponent == 0.5:
        return op(f, "sqrt", [base])
    return op(f, "exp", [op(f, "mul", [op(f, "log", [base]), Static(exponent)])])


@either("requires_grad_", "pin_memory")
def _same(f: Frame, call: CallArguments) -> Value:
    return call.args[0]


OVERWRITING = {"fill", "zero"}
"""Operations in place whose result has nothing of what was in the tensor before."""


@operation(*OVERWRITING)
def _overwritten(f: Frame, call: CallArguments) -> Value:
    """`x.fill_(number)` and `x.zero_()`."""
    x, value = call.bind("input", "value", value=Static(0.0))
    is_known, number = known(value)
    zeros = op(f, "full", [], {"shape": shape(x), "value": float(number) if is_known else ADDS_NOTHING})
    return zeros if is_known else op(f, "add", [zeros, value])


IN_PLACE |= OVERWRITING


@operation("rsqrt")
def _rsqrt(f: Frame, call: CallArguments) -> Dyn:
    (x,) = call.bind("input")
    return op(f, "div", [Static(1.0), op(f, "sqrt", [x])])


@operation("square")
def _square(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    if _of_ints(x):
        return _power_of_ints(f, x, Static(2))
    return op(f, "mul", [x, x])


@handles(FUNCTIONS, torch.nn.functional.relu)
def _relu(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`torch.nn.functional.relu`, which can also change its operand."""
    x, inplace = CallArguments("relu", args, kwargs).bind("input", "inplace", inplace=Static(False))
    if constant(inplace, "inplace"):
        return in_place(f, x, lambda x: op(f, "relu", [x]), node)
    return call_operation(f, "relu", CallArguments("relu", [x], {}))
