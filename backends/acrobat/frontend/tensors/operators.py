"""What Python's operators, loops, comparisons and conversions do with tensors."""

from __future__ import annotations

import ast

from backends.acrobat import library
from backends.acrobat.core.host import float32
from backends.acrobat.core.types import FLOAT, TensorT
from backends.acrobat.frontend.evaluator.conditions.truths import condition
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.operators import SYMBOLS, as_int
from backends.acrobat.frontend.evaluator.tables import BINARY, COMPARED, ITERATION, LENGTHS, NUMBERS, TRUTHS, UNARY, handles
from backends.acrobat.frontend.kinds import is_number, is_ragged, is_tensor, is_unknown, known, type_of
from backends.acrobat.frontend.tensors.buffers import as_tensor
from backends.acrobat.frontend.tensors.dtypes import as_floats, of_bools
from backends.acrobat.frontend.tensors.fixing import only_element
from backends.acrobat.frontend.tensors.ints import arithmetic, computed, is_ints, one, rows_of
from backends.acrobat.frontend.tensors.lifting import extent_of, item, op, shape, shape_of
from backends.acrobat.frontend.tensors.mask_arithmetic import of_buffers, of_masks
from backends.acrobat.frontend.tensors.mask_operations import as_mask
from backends.acrobat.frontend.tensors.masks import bool_in, is_mask, is_one_hot, negated
from backends.acrobat.frontend.tensors.new_tensors import note_new
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.products import matmul, refuse_ints
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, unknown


@handles(BINARY, "tensor", "ragged")
def _binary(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    """The result is a new tensor, and keeps no reference to the operands."""
    bound, fresh = len(f.builder.bindings), set(f.builder.fresh)
    result = note_new(f, bound, _of_operator(f, node, operator, name, a, b))
    f.builder.fresh |= fresh
    return result


def _of_operator(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    if isinstance(a, HostTensor) or isinstance(b, HostTensor):
        return of_buffers(f, node, operator, name, a, b)
    whole = arithmetic(f, name, a, b)
    if whole is not None:
        return whole
    if name == "matmul":
        refuse_ints("@", [a, b])
    a, b = as_tensor(f, a), as_tensor(f, b)
    if of_bools(a) or of_bools(b):
        return of_masks(f, node, operator, name, *(as_mask(f, v) if of_bools(v) else v for v in (a, b)))
    if isinstance(a, Held) or isinstance(b, Held):
        return of_masks(f, node, operator, name, a, b)
    if name == "pow":
        power = call_operation(f, "pow", CallArguments("pow", [a, b], {}))
        f.program.noted.note_power(f.builder, power, a, b)
        return power
    a, b = (as_floats(f, v) if computed(v) else v for v in (a, b))
    if name in ("floordiv", "mod"):
        return f.program.call(f, node, library.FUNCTIONS["floor_divide" if name == "floordiv" else "remainder"], [a, b], {})
    if name == "matmul" and (is_ragged(a) or is_ragged(b)):
        return matmul(f, a, b)
    if name in ("add", "sub", "mul", "div", "matmul"):
        return op(f, name, [a, b])
    return f.problem(
        node, f"`{SYMBOLS[name]}` of tensors is not an operation of the language", "LANGUAGE.md lists the operations"
    )


@handles(UNARY, "tensor", "ragged")
def _unary(f: Frame, operator: ast.unaryop, a: Value) -> Value | None:
    match operator:
        case ast.Invert() if of_bools(a):
            return negated(f, as_mask(f, a))
        case ast.USub():
            return arithmetic(f, "sub", Static(0), a) or op(f, "neg", [a])
        case ast.UAdd():
            return a
    return None


@handles(ITERATION, "tensor")
def rows(f: Frame, x: Dyn) -> TupleV:
    """The parts of a tensor along the first dimension, as a loop or unpacking takes them. Raises Refused."""
    if not shape_of(x):
        raise Refused("a tensor without dimensions cannot be iterated over")
    return TupleV(tuple(op(f, "index", [x], {"dim": 0, "i": i}) for i in range(shape_of(x)[0])))


@handles(ITERATION, "ragged")
def _rows(f: Frame, x: Dyn) -> Value:
    return unknown() if is_unknown(x) else rows_of(f, x)


@handles(LENGTHS, "ragged")
def _varying(f: Frame, x: Dyn) -> Value:
    return extent_of(f, x, 0)


@handles(LENGTHS, "tensor")
def _first_extent(f: Frame, x: Dyn) -> Value | None:
    return Static(shape_of(x)[0]) if shape_of(x) else None


@handles(LENGTHS, Held)
def _held_length(f: Frame, x: Held) -> Value | None:
    if is_mask(x) or is_one_hot(x):
        return _varying(f, x.value) if is_ragged(x.value) else _first_extent(f, x.value)  # type: ignore[arg-type]
    items = f.components(x.value) if x.kind == "ids" else None
    return None if items is None else Static(len(items))


@handles(LENGTHS, HostTensor)
def _host_length(f: Frame, x: HostTensor) -> Value | None:
    return Static(len(x.tensor)) if x.tensor.ndim else None


@handles(TRUTHS, "tensor")
def _truth(f: Frame, x: Dyn, node: ast.AST) -> Value:
    return condition(f, item(f, x, "value"), node)


@handles(TRUTHS, "ragged")
def _varying_truth(f: Frame, x: Dyn, node: ast.AST) -> Value:
    return condition(f, only_element(f, x), node)


@handles(TRUTHS, Held)
def _held_truth(f: Frame, x: Held, node: ast.AST) -> Value | None:
    if is_ints(x):
        return condition(f, one(f, x), node)
    return bool_in(f, x) if is_mask(x) or x.kind == "bytes" else None


@handles(TRUTHS, HostTensor)
def _host_truth(f: Frame, x: HostTensor, node: ast.AST) -> Value:
    return Static(bool(x.read().value))


@handles(NUMBERS, "tensor")
def _number(f: Frame, x: Dyn) -> Value:
    return item(f, x, "value")


@handles(NUMBERS, "ragged")
def _varying_number(f: Frame, x: Dyn) -> Value:
    return one(f, x) if is_ints(x) and all(e == 1 for e in shape(x)) else item(f, only_element(f, x), "value")  # type: ignore[arg-type]


@handles(NUMBERS, Held)
def _held_number(f: Frame, x: Held) -> Value:
    if is_mask(x):
        return bool_in(f, x)
    return one(f, x) if is_ints(x) else x


@handles(COMPARED, Held, "ragged")
def _comparable_ints(f: Frame, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of a comparison, of which one is a tensor of one int, as numbers."""
    return tuple(one(f, v) if is_ints(v) and not is_number(v) else v for v in (a, b))  # type: ignore[return-value]


@handles(NUMBERS, HostTensor)
def _host_number(f: Frame, x: HostTensor) -> Value:
    return x.read()


@handles(COMPARED, "tensor")
def _comparable_numbers(f: Frame, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of a comparison, of which one is a tensor, as the numbers that torch compares: of float32, unless both are
    ints. A number of Python, or an int, that is compared with floats is rounded to float32 first."""
    types = [type_of(v) for v in (a, b)]
    floats = any(t == FLOAT or (isinstance(t, TensorT) and t.dtype == "float32") for t in types)

    def number(v: Value) -> Value:
        t = type_of(v)
        if is_tensor(v):
            v = item(f, v, "value")  # type: ignore[arg-type]
            if t.dtype == "float32":
                return v
        if not floats or is_unknown(v) or not is_number(v):
            return v
        is_known, x = known(v)
        return Static(float32(x)) if is_known else f.host("float32", [as_int(f, v)], FLOAT, "rounded")

    return number(a), number(b)
