"""The core IR: a typed, pure, first-order functional language, every node immutable and carrying its source span.

Rules that hold everywhere (`ir.verifier` checks them, and those that a node's docstring states):
- A variable is bound once in its function, and used only where it is bound: after its `Let`, or in the body of its node.
- Operands are atoms (`Var`, `Lit`, `Weight`). Only bodies, and what a `Let` binds, are other expressions; so the order of
  evaluation and what depends on what can be read off the lets.
- `type` of a node is the type of its value, and that of a variable is the type of all values that it is bound to. Types are
  those of `core.types`; there are no conversions between them.
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
    """A variable, where it is bound and where it is used."""

    name: str
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Lit:
    """A number or bool that is written in the program. `value` is of exactly the Python type that `type` names."""

    value: int | bool | float
    type: ScalarT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor that is the same for all instances: a parameter of the module, named as in the state dict, or a weight that
    is derived from others. `Program.weights` has its type."""

    name: str
    type: TensorT
    span: Span = _span()


Atom: TypeAlias = Var | Lit | Weight


@dataclass(frozen=True, slots=True)
class Op:
    """The operation `op` of `core.ops.OPS` on tensors (or lists of tensors) of one instance; its entry there says what it takes
    and which shape its result has. `attrs` are the settings that are known when compiling, such as a dimension: (name, value)
    pairs sorted by name. A scalar operand is a literal, except for operations that make addresses or tensors of scalars."""

    op: str
    args: tuple[Atom, ...]
    attrs: tuple[tuple[str, Any], ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Host:
    """The computation `op` of `core.host.HOST` on scalars and lists. The host does it at once: it is no launch, and adds
    nothing to the depth of the tensors that lists contain."""

    op: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Item:
    """Reads numbers out of `tensor`: the number in a tensor of one element or, where `type` is a list, all numbers of a vector.
    They are ints if the tensor is int64, else floats. The instance waits until the tensor has been computed."""

    tensor: Atom
    type: ScalarT | ListT
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Tuple:
    """The tuple of `items`."""

    items: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Field:
    """Component number `index`, from 0, of the tuple `value`."""

    value: Atom
    index: int
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ListOf:
    """The list of `items`, which all have the type of the list's items. There may be none."""

    items: tuple[Atom, ...]
    type: Type
    span: Span = _span()


TABLE = 8
"""A list of at least this many constants is a table in generated code, which need not be made anew each time."""


def is_table(node: Any) -> bool:
    """Whether the node is a list that generated code has as a table (`TABLE`)."""
    return isinstance(node, ListOf) and len(node.items) >= TABLE and all(isinstance(a, Lit) for a in node.items)


@dataclass(frozen=True, slots=True)
class Construct:
    """A value of the case `case` of the union `type`. `args` are the values of the case's fields, in their order."""

    case: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """Calls the function `function` of the program with one argument for each of its parameters."""

    function: str
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Launch:
    """Runs a kernel or static block, which `passes.vertical` and `passes.coarsen` put in the place of operations. There is one
    operand for each of `unit.params`: a weight where the parameter is shared, a list of tensors where its mode is LIST, else
    a tensor. The value is the unit's result, or the tuple of its results if there are several."""

    unit: Kernel | Block
    args: tuple[Atom, ...]
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    """The value of `then` if `cond`, a bool, is true, else that of `orelse`. Both have the type of the node."""

    cond: Atom
    then: Expr
    orelse: Expr
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Arm:
    """What a `Match` does with a value of the case `case`: `vars` are bound to its fields, in their order, in `body`."""

    case: str
    vars: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Match:
    """The value of the arm for the case that `value`, which is of a union, has. There is one arm for each case of the union."""

    value: Atom
    arms: tuple[Arm, ...]
    type: Type
    span: Span = _span()
    free: frozenset[str] | None = _memo()
    works: bool | None = _memo()


@dataclass(frozen=True, slots=True)
class Map:
    """The list `[body for var in iterable]`. The elements do not use each other, so all of them have one depth."""

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
    """Binds `var` to `value` in `body`, whose value is that of the whole. A body that is a let again makes a let chain."""

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
    """A function of the program. `body` has the type `result` and uses no variables but `params` and those bound in it."""

    name: str
    params: tuple[Var, ...]
    result: Type
    body: Expr
    span: Span = _span()
    origin: str = ""
    """The name of the function that this one is a specialised clone of; empty for any other."""


@dataclass(frozen=True, slots=True)
class Derived:
    """How a derived weight is computed, once, when the model is loaded: by the operation `op` of `core.ops.OPS` on the weights
    named `args`, which stand before it in `Program.derived`; `attrs` as in `Op`."""

    op: str
    args: tuple[str, ...]
    attrs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A whole model. The function `entry` has one parameter, the instance, and its value is the result for that instance.
    `weights` has the type of every weight by name, `derived` how the derived ones are computed, and `values` the others'
    values as arrays of these shapes."""

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
    facts: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """The results of analyses of this program, by analysis (`analyses.once`). A changed copy begins without them."""
