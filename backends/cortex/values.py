"""Expressions: what the cases of a recursive model compute when they are run on symbols.

A `Value` is a tensor of one node. It is made by operators (`+`, `@`), by the functions below, and for any other operator of
`backends.acrobat.core.ops` by `operation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from backends.acrobat.core import ops
from backends.acrobat.core.types import FLOAT, ListT, TensorT, Type

Attrs: TypeAlias = tuple[tuple[str, Any], ...]
Operand: TypeAlias = "Value | float"
State: TypeAlias = Mapping[str, "Value"]

LEAVES = frozenset({"weight", "word", "child", "each", "own"})
"""What expressions start from. weight: a parameter; word: the row of a table that the node's word names; child: a state of the
child in a fixed slot; each: a state of every child, of any number; own: a state of the node itself (in outputs only)."""


def _operator(op: str, swapped: bool = False) -> Callable[[Value, Operand], Value]:
    """The method of an operator, with its operands `swapped` for one whose left operand is a number."""

    def method(self: Value, other: Operand) -> Value:
        return operation(op, other, self) if swapped else operation(op, self, other)

    return method


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of one node: an operation of `backends.acrobat.core.ops` or one of `LEAVES`. Equal values are one object."""

    op: str
    args: tuple[Operand, ...]
    attrs: Attrs
    type: TensorT

    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("add", "sub", "mul", "div"))
    __radd__, __rsub__, __rmul__, __rtruediv__ = (_operator(op, swapped=True) for op in ("add", "sub", "mul", "div"))
    __matmul__ = _operator("matmul")

    def __neg__(self) -> Value:
        return operation("neg", self)

    def __bool__(self) -> bool:
        raise TypeError("control flow cannot depend on a tensor's value in Cortex: its structure is all it knows")

    def _compared(self, other: object) -> NoReturn:
        bool(self)
        raise AssertionError("a Value has no truth value")

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.attrs)


_made: dict[tuple[Any, ...], Value] = {}


def make(op: str, args: tuple[Operand, ...], attrs: Attrs, type: TensorT) -> Value:
    """The Value with these fields; the same object for equal ones."""
    key = (op, tuple(id(a) if isinstance(a, Value) else a for a in args), attrs, type)
    if key not in _made:
        _made[key] = Value(op, args, attrs, type)
    return _made[key]


def operation(op: str, *args: Operand, **attrs: Any) -> Value:
    """The result of an operator. Raises `ShapeError` for operands that do not fit, and TypeError for what is no operand."""
    for a in args:
        if not isinstance(a, (Value, int, float)):
            given = type(a).__name__
            raise TypeError(f"{op}: an operand is a Value or a number, not a {given}; parameters are taken by name, w['...']")
    types: list[Type] = [a.type if isinstance(a, Value) else FLOAT for a in args]
    if op == "list_sum":
        types = [ListT(args[0].type)] if isinstance(args[0], Value) else types
    key = tuple(sorted(attrs.items()))
    return make(op, args, key, ops.OPS[op].infer(types, attrs))


def sigmoid(x: Value) -> Value:
    return operation("sigmoid", x)


def tanh(x: Value) -> Value:
    return operation("tanh", x)


def relu(x: Value) -> Value:
    return operation("relu", x)


def argmax(x: Value) -> Value:
    """The index of the largest element of each row."""
    return operation("argmax", x, dim=len(x.type.shape) - 1)


def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    """`x` times the transposed weight, plus the bias, as `torch.nn.functional.linear`."""
    return operation("linear", x, weight) if bias is None else operation("linear", x, weight, bias)


def cat(*parts: Value, dim: int = 0) -> Value:
    return operation("cat", *parts, dim=dim)


def zeros(*shape: int) -> Value:
    return operation("full", shape=shape, value=0.0)


def is_zero(value: Operand) -> bool:
    """Whether this is the number zero or a tensor of nothing but zeros."""
    if isinstance(value, Value):
        return value.op == "full" and value.attributes["value"] == 0.0
    return value == 0.0


class Weights:
    """The model's parameters by their state-dict names."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = shapes

    def __getitem__(self, name: str) -> Value:
        return make("weight", (), (("name", name),), TensorT(self.shape(name)))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a parameter. Raises ValueError if there is none of this name."""
        if name not in self.shapes:
            raise ValueError(f"there is no parameter {name}; the model has {', '.join(self.shapes) or 'none'}")
        return tuple(self.shapes[name])

    def linear(self, name: str, x: Value) -> Value:
        """The `nn.Linear` of that name on `x`."""
        bias = self[f"{name}.bias"] if f"{name}.bias" in self.shapes else None
        return linear(x, self[f"{name}.weight"], bias)
