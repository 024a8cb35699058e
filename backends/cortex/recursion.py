"""The recursion API: how a user of Cortex writes a recursive model down.

A model is one or more recursions over the nodes of a structure (a tree, a sequence, a grid). Each has a leaf case and an inner
case, functions from a node to its state, a dictionary of tensors; the inner case reads the states of the node's children. The
cases are run once, on symbols, and what they compute becomes expressions (`Value`). So control flow can depend on the structure
only: a case that asks for the truth value of a tensor gets a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from backends.acrobat.core import ops
from backends.acrobat.core.types import FLOAT, ListT, TensorT, Type

Attrs: TypeAlias = tuple[tuple[str, Any], ...]
Operand: TypeAlias = "Value | float"
State: TypeAlias = Mapping[str, "Value"]

LEAVES = frozenset({"weight", "word", "child", "each", "own"})
"""What expressions start from. weight: a parameter; word: the row of a table that the node's word names; child: a state of the
child in a fixed slot; each: a state of every child, of any number; own: a state of the node itself (in outputs only)."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of one node: an operation of `backends.acrobat.core.ops` or one of `LEAVES`. Equal values are one object."""

    op: str
    args: tuple[Operand, ...]
    attrs: Attrs
    type: TensorT

    def __add__(self, other: Operand) -> Value:
        return operation("add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return operation("sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return operation("mul", self, other)

    def __matmul__(self, other: Value) -> Value:
        return operation("matmul", self, other)

    def __bool__(self) -> bool:
        raise TypeError("control flow cannot depend on a tensor's value in Cortex: its structure is all it knows")

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
    """The result of an operator. Raises `ShapeError` for operands that do not fit."""
    types: list[Type] = [a.type if isinstance(a, Value) else FLOAT for a in args]
    if op == "list_sum":
        types = [ListT(args[0].type)] if isinstance(args[0], Value) else types
    key = tuple(sorted(attrs.items()))
    return make(op, args, key, ops.OPS[op].infer(types, attrs))


def sigmoid(x: Value) -> Value:
    return operation("sigmoid", x)


def tanh(x: Value) -> Value:
    return operation("tanh", x)


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
        return make("weight", (), (("name", name),), TensorT(tuple(self.shapes[name])))

    def linear(self, name: str, x: Value) -> Value:
        """The `nn.Linear` of that name on `x`."""
        bias = self[f"{name}.bias"] if f"{name}.bias" in self.shapes else None
        return linear(x, self[f"{name}.weight"], bias)


@dataclass(frozen=True)
class Node:
    """A node as a case sees it. `types`: for each recursion the types of its states, which inner cases and outputs may read."""

    weights: Weights
    types: tuple[Mapping[str, TensorT], ...] = ()
    recursion: int = 0

    def row(self, table: str, shape: tuple[int, ...] | None = None) -> Value:
        """The row of a parameter that the node's word names, in `shape`."""
        full = self.weights.shapes[table][1:]
        return make("word", (), (("table", table),), TensorT(tuple(shape or full)))

    def child(self, slot: int) -> dict[str, Value]:
        """The state of the child in a fixed place: of a binary tree 0 is the left one, of a grid 0 is the upper neighbour."""
        return self._state("child", (("slot", slot),), self.recursion)

    def sum(self, term: Callable[[dict[str, Value]], Value]) -> Value:
        """The sum of `term` over the states of all children."""
        return operation("list_sum", term(self._state("each", (), self.recursion)))

    def state(self, recursion: int = 0) -> dict[str, Value]:
        """The node's own state, for outputs."""
        return self._state("own", (("recursion", recursion),), recursion)

    def _state(self, op: str, attrs: Attrs, recursion: int) -> dict[str, Value]:
        return {name: make(op, (), (*attrs, ("state", name)), t) for name, t in self.types[recursion].items()}


@dataclass(frozen=True)
class Tree:
    """Dataclass trees. `children` names the fields of `node` that hold one child each, two or more, or the one field that holds
    a list of them. `word` is the field of a leaf that numbers its word, `node_word` that of an inner node, where it has one."""

    leaf: type
    node: type
    children: tuple[str, ...]
    word: str = "word"
    node_word: str = ""

    @property
    def slots(self) -> int:
        """Children in fixed places; 0: any number of them."""
        return len(self.children) if len(self.children) > 1 else 0


@dataclass(frozen=True)
class Chain:
    """Lists of words. The first recursion goes forwards, the second, if there is one, backwards; child 0 is the element
    before in that direction."""

    slots: int = 1


@dataclass(frozen=True)
class Grid:
    """Lists of rows of words, all rows of one length. Child 0 is the upper neighbour, child 1 the left one."""

    slots: int = 2


Structure: TypeAlias = Tree | Chain | Grid


@dataclass(frozen=True)
class Recursion:
    """`leaf(node)` is the state of a leaf; for sequences and grids it is the state outside of them, where there is no word.
    `inner(node)` is the state of every other node, with the same names and shapes."""

    leaf: Callable[[Node], State]
    inner: Callable[[Node], State]


@dataclass(frozen=True)
class Model:
    """`output(node)` is computed at the roots of trees, and at every element of sequences and grids."""

    structure: Structure
    recursions: Sequence[Recursion]
    output: Callable[[Node], Value]


@dataclass(frozen=True)
class Cases:
    """The expressions of one recursion."""

    leaf: dict[str, Value]
    inner: dict[str, Value]


@dataclass(frozen=True)
class Traced:
    """A model as expressions."""

    structure: Structure
    recursions: tuple[Cases, ...]
    output: Value
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def trace(model: Model, weights: Weights) -> Traced:
    """Run the cases on symbols. Raises ValueError if the two cases give different states, or there are too many recursions."""
    most = 2 if isinstance(model.structure, Chain) else 1
    if len(model.recursions) > most:
        raise ValueError(f"a {type(model.structure).__name__} has {most} recursion{'s' if most > 1 else ''} at most")
    leaves = [dict(r.leaf(Node(weights))) for r in model.recursions]
    types = tuple({name: v.type for name, v in leaf.items()} for leaf in leaves)
    cases = []
    for i, (recursion, leaf) in enumerate(zip(model.recursions, leaves, strict=True)):
        inner = dict(recursion.inner(Node(weights, types, i)))
        if {name: v.type for name, v in inner.items()} != types[i]:
            states = f"{ {n: v.type.shape for n, v in inner.items()} }, { {n: t.shape for n, t in types[i].items()} }"
            raise ValueError(f"recursion {i}: the inner case has other states than the leaf case: {states}")
        cases.append(Cases(leaf, {name: inner[name] for name in leaf}))
    return Traced(model.structure, tuple(cases), model.output(Node(weights, types)), weights.shapes)
