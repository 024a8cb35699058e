"""The core IR: a typed, pure, first-order functional language, every node immutable and carrying its source span.

Invariants (checked by `ir.verifier`): every variable is bound once in its function; operands are atoms (`Var`, `Lit`, `Weight`)
and only bodies, and what a `Let` binds, are expressions; so evaluation order and data dependence can be read off the lets.
"""
# ruff: noqa: RUF009 - `_span()` and `_memo()` are `dataclasses.field`, one for each class

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from backends.acrobat.core.messages import Messages
from backends.acrobat.core.span import NOWHERE, Span
from backends.acrobat.core.types import DataType, ListT, ScalarT, TensorT, Type
from backends.acrobat.core.units import Block, Kernel


def _span() -> Any:
    return field(default=NOWHERE, compare=False, kw_only=True, repr=False)


def _memo() -> Any:
    """A field that caches a result of `visitor.free_vars` or `visitor.works`; not compared, and None in a changed copy."""
    return field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Lit:
    value: int | bool | float
    type: ScalarT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor that is the same for all instances: a parameter of the module (its state-dict name), or derived from them."""

    name: str
    type: TensorT
    span: Span = _span()


Atom: TypeAlias = Var | Lit | Weight


@dataclass(frozen=True, slots=True)
class Op:
    """A tensor operation of `core.ops` on one instance. `attrs` are sorted (name, value) pairs of static values."""

    op: str
    args: tuple[Atom, ...]
    attrs: tuple[tuple[str, Any], ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Host:
    """A computation on host scalars and lists, named in `core.ops.HOST`; costs no launch and has no depth."""

    op: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Item:
    """The number in a tensor of one element, a float, or an int if it is int64; where the type is a list, all numbers of a
    vector, read at once. The instance waits until the tensor is computed."""

    tensor: Atom
    type: ScalarT | ListT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Field:
    """Component `index` of a tuple."""

    value: Atom
    index: int
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Atom, ...]
    type: Type
    span: Span = _span()


TABLE = 8
"""The fewest elements of a list of constants that generated code has as a table, and does not make anew each time."""


def is_table(node: Any) -> bool:
    """Whether a node is a list of constants, and long enough to be a table in generated code."""
    return isinstance(node, ListOf) and len(node.items) >= TABLE and all(isinstance(a, Lit) for a in node.items)


@dataclass(frozen=True, slots=True)
class Construct:
    """A value of case `case` of the union `type`."""

    case: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Launch:
    """A fused kernel or static block (after `passes.vertical` and `passes.coarsen`). `args` follow `unit.params`; the type is
    the result's, or a tuple of the results' types if the unit has several."""

    unit: Kernel | Block
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    cond: Atom
    then: Expr
    orelse: Expr
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Arm:
    case: str
    vars: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Match:
    """Exhaustive: one arm for each case of the union."""

    value: Atom
    arms: tuple[Arm, ...]
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Map:
    """`[body for var in iterable]`: the elements are independent of each other."""

    var: Var
    iterable: Atom
    body: Expr
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Fold:
    """A `for` loop: `vars` start as `init`, and each element of `iterable`, in order, rebinds them to the components of `body`
    (a tuple, also when there is one variable). The value is the tuple of their last values."""

    var: Var
    iterable: Atom
    vars: tuple[Var, ...]
    init: tuple[Atom, ...]
    body: Expr
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Loop:
    """A `while` loop: while `cond` (over `vars`) holds, `vars` are rebound to the components of `body`. Value as in `Fold`."""

    vars: tuple[Var, ...]
    init: tuple[Atom, ...]
    cond: Expr
    body: Expr
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Let:
    var: Var
    value: Expr
    body: Expr
    span: Span = _span()

    @property
    def type(self) -> Type:
        body = self.body
        while isinstance(body, Let):  # chains may be longer than the stack is deep
            body = body.body
        return body.type


Work: TypeAlias = Op | Host | Item | Tuple | Field | ListOf | Construct | Call | Launch
Expr: TypeAlias = Atom | Work | If | Match | Map | Fold | Loop | Let


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    params: tuple[Var, ...]
    result: Type
    body: Expr
    span: Span = _span()
    origin: str = ""
    """The function this one is a specialised clone of, or ""."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived weight, computed once, at load: an operation of `core.ops` and the names of the weights it is applied to."""

    op: str
    args: tuple[str, ...]
    attrs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """The function `entry` has one parameter, the instance. `weights` gives the type of each weight, `derived` how each weight
    that is no parameter of the module is computed (operands come first), `values` the parameters themselves (not compared)."""

    functions: Mapping[str, Function]
    datatypes: Mapping[str, DataType]
    weights: Mapping[str, TensorT]
    derived: Mapping[str, Derived] = field(default_factory=dict)
    values: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)
    entry: str = "forward"
    boundary: Any = field(default=None, compare=False, repr=False)
    """How instances and results in Python differ from the program's (`frontend.instances.boundary.Boundary`); None in a program
    that was not made by the front end."""
    messages: Messages = field(default_factory=Messages, compare=False, repr=False)
    """The texts of the errors that the model raises itself."""
    known: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Results of analyses that `analyses.once` caches. A changed copy begins without them."""
