"""The recursion API: how a user of Cortex writes a recursive model down.

A model is one or more recursions over the nodes of a structure (a tree, a sequence, a grid). Each has a leaf case and an inner
case, functions from a node to its state, a dictionary of tensors; the inner case reads the states of the node's children. The
cases are run once, on symbols, and what they compute becomes expressions (`values.py`). So control flow can depend on the
structure only: a case that asks for the truth value of a tensor gets a TypeError. What a node does not have, such as the word
of an inner node whose class names none, is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from backends.acrobat.core.types import TensorT
from backends.cortex.values import (
    Attrs,
    State,
    Value,
    Weights,
    argmax,
    cat,
    linear,
    make,
    operation,
    relu,
    sigmoid,
    tanh,
    zeros,
)

__all__ = [
    "Chain",
    "Grid",
    "Model",
    "Node",
    "Recursion",
    "State",
    "Tree",
    "Value",
    "Weights",
    "argmax",
    "cat",
    "linear",
    "operation",
    "relu",
    "sigmoid",
    "tanh",
    "trace",
    "zeros",
]


@dataclass(frozen=True)
class Tree:
    """Dataclass trees. `children` names the fields of `node` that hold one child each, two or more, or the one field that holds
    a list of them. `word` is the field of a leaf that numbers its word, `node_word` that of an inner node, where it has one.
    An instance is the root of its tree, or an object of the class `instance` whose fields `roots` hold the roots of several.
    Raises ValueError for classes that do not tell leaves from inner nodes, where no children are named, and for roots without
    the class that has them."""

    leaf: type
    node: type
    children: tuple[str, ...]
    word: str = "word"
    node_word: str = ""
    instance: type | None = None
    roots: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if issubclass(self.node, self.leaf):
            raise ValueError(
                f"leaves are told by their class, and {self.node.__name__}, the class of inner nodes, is a {self.leaf.__name__}"
            )
        if not self.children:
            raise ValueError(f"no children are named: give the fields of {self.node.__name__} that hold them")
        if (self.instance is None) != (not self.roots):
            raise ValueError("the roots of an instance are given as both its class and the fields that hold them")

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


Case: TypeAlias = Literal["leaf", "inner", "output"]


@dataclass(frozen=True)
class Node:
    """A node as a case sees it. `types`: for each recursion the types of its states, which inner cases and outputs may read."""

    weights: Weights
    structure: Structure
    case: Case
    types: tuple[Mapping[str, TensorT], ...] = ()
    recursion: int = 0

    def row(self, table: str, shape: tuple[int, ...] | None = None) -> Value:
        """The row of a parameter that the node's word names, in `shape`."""
        if self.case == "output":
            raise ValueError(f"an output has no word; keep the row of {table} in a state")
        if self.case == "inner" and isinstance(self.structure, Tree) and not self.structure.node_word:
            name = self.structure.node.__name__
            raise ValueError(f"an inner node has no word for a row of {table}; name the field of {name}: Tree(node_word=...)")
        full = self.weights.shape(table)[1:]
        return make("word", (), (("table", table),), TensorT(tuple(shape or full)))

    def child(self, slot: int) -> dict[str, Value]:
        """The state of the child in a fixed place: of a binary tree 0 is the left one, of a grid 0 is the upper neighbour."""
        self._only("inner", "child")
        slots = self.structure.slots
        if not slots:
            raise ValueError("a node with a list of children has none in a fixed place; use sum")
        if slot not in range(slots):
            raise ValueError(f"child {slot}: a node has {slots} children in fixed places, numbered from 0")
        return self._state("child", (("slot", slot),), self.recursion)

    def sum(self, term: Callable[[dict[str, Value]], Value]) -> Value:
        """The sum of `term` over the states of all children, where they are a list."""
        self._only("inner", "sum")
        if self.structure.slots:
            raise ValueError("the children lie in fixed places; add up what child(0), child(1), ... give")
        return operation("list_sum", term(self._state("each", (), self.recursion)))

    def state(self, recursion: int = 0, root: int = 0) -> dict[str, Value]:
        """The node's own state, for outputs; where an instance has several trees, that of the root of this number."""
        self._only("output", "state")
        if recursion not in range(len(self.types)):
            raise ValueError(f"state {recursion}: the model has {len(self.types)} recursions, numbered from 0")
        roots = max(len(self.structure.roots), 1) if isinstance(self.structure, Tree) else 1
        if root not in range(roots):
            raise ValueError(f"root {root}: an instance has {roots}, numbered from 0")
        return self._state("own", (("recursion", recursion), ("root", root)), recursion)

    def _only(self, case: Case, asked: str) -> None:
        if self.case != case:
            article = {"leaf": "a leaf case", "inner": "an inner case", "output": "an output"}
            raise ValueError(f"{asked} is for {article[case]}; {article[self.case]} has none")

    def _state(self, op: str, attrs: Attrs, recursion: int) -> dict[str, Value]:
        return {name: make(op, (), (*attrs, ("state", name)), t) for name, t in self.types[recursion].items()}


@dataclass(frozen=True)
class Recursion:
    """`leaf(node)` is the state of a leaf; for sequences and grids it is the state outside of them, where there is no word.
    `inner(node)` is the state of every other node, with the same names and shapes."""

    leaf: Callable[[Node], State]
    inner: Callable[[Node], State]


@dataclass(frozen=True)
class Model:
    """`output(node)` is computed at the roots of trees, once for each instance, and at every element of sequences and grids."""

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
    """Run the cases on symbols. Raises ValueError if the two cases give different states, or there are too many recursions, and
    TypeError for results that are no values."""
    structure = model.structure
    most = 2 if isinstance(structure, Chain) else 1
    if not 1 <= len(model.recursions) <= most:
        raise ValueError(
            f"a {type(structure).__name__} has {most} recursion{'s' if most > 1 else ''} at most, and one at least"
        )
    leaves = [
        _state(f"the leaf case of recursion {i}", r.leaf(Node(weights, structure, "leaf")))
        for i, r in enumerate(model.recursions)
    ]
    types = tuple({name: v.type for name, v in leaf.items()} for leaf in leaves)
    cases = []
    for i, (recursion, leaf) in enumerate(zip(model.recursions, leaves, strict=True)):
        inner = _state(f"the inner case of recursion {i}", recursion.inner(Node(weights, structure, "inner", types, i)))
        if {name: v.type for name, v in inner.items()} != types[i]:
            states = f"{ {n: v.type.shape for n, v in inner.items()} }, { {n: t.shape for n, t in types[i].items()} }"
            raise ValueError(f"recursion {i}: the inner case has other states than the leaf case: {states}")
        cases.append(Cases(leaf, {name: inner[name] for name in leaf}))
    output = model.output(Node(weights, structure, "output", types))
    if not isinstance(output, Value):
        raise TypeError(f"the output is one Value, not a {type(output).__name__}")
    return Traced(structure, tuple(cases), output, weights.shapes)


def _state(case: str, given: object) -> dict[str, Value]:
    """What a case gave, if it is a state. Raises TypeError, which names the case, if it is not."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{case} gives a dictionary of states by name, not {given!r}")
    for name, value in given.items():
        if not isinstance(value, Value):
            raise TypeError(f"{case}: the state {name} is a Value such as zeros(4), not a {type(value).__name__}")
    return dict(given)
