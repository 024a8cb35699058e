"""What an expression of the source stands for while it is compiled: a value of the program, or something known at compile
time."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT, Type
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import Names, free_vars, from_lets, substitute


@dataclass(frozen=True, slots=True)
class UnknownT:
    """Not known yet (the result of a recursion whose base case was not seen) or not worth knowing (after an error)."""


UNKNOWN: Any = UnknownT()
END = 2**62
"""The end of a slice that has none."""


@dataclass(frozen=True, slots=True)
class Dyn:
    """A value of the program."""

    atom: n.Atom

    @property
    def type(self) -> Type:
        return self.atom.type


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object known at compile time: a function, a class, a string, None, a shape, ..."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number that a function is compiled for, as it has no parameter for it."""

    value: bool | int | float


@dataclass(frozen=True, slots=True)
class TupleV:
    """A tuple whose components are values."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda, with the names it sees. Calling it compiles its expression where the call is."""

    node: ast.Lambda
    env: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the model. `tensors` gives the atoms of its parameters and buffers by name relative to it; `root` marks
    the module being compiled, whose tensors are weights everywhere."""

    module: nn.Module
    tensors: tuple[tuple[str, n.Atom], ...]
    root: bool = False

    def tensor(self, name: str) -> n.Atom | None:
        return dict(self.tensors).get(name)

    def child(self, name: str) -> Module:
        prefix = f"{name}."
        inner = tuple((k.removeprefix(prefix), a) for k, a in self.tensors if k.startswith(prefix))
        return Module(self.module.get_submodule(name), inner)


@dataclass(frozen=True, slots=True)
class OneOf:
    """The module at a place of a list that is known at run time only. `index` is checked to be one of `alternatives`."""

    index: Dyn
    alternatives: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """A function bound to a module, or to a tensor or list value."""

    owner: Module | Dyn | TupleV | Held | HostTensor
    name: str
    function: Any = None


@dataclass(frozen=True, slots=True)
class Held:
    """A value with few uses: `zip(...)` and other iterators, which their first use exhausts; what `torch.tensor` made of ints,
    which is an index, several, or a batch of one sentence."""

    kind: Literal["iterator", "index", "ids", "batch"]
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class HostTensor:
    """A parameter or buffer that kernels cannot read, since it is not float32, or a part of one. Its values are constants of
    the program: the source may read them with `.item()`. `name` is how it is written, from the model on."""

    tensor: Tensor
    name: str

    @property
    def what(self) -> str:
        dtype = str(self.tensor.dtype).removeprefix("torch.")
        return f"{'an' if dtype[0] == 'i' else 'a'} {dtype} tensor"

    @property
    def refusal(self) -> str:
        """Why it cannot be an operand."""
        if self.tensor.is_floating_point():
            return f"`{self.name}` is {self.what}, and models are compiled in float32 only: call `.float()` on the model first"
        return (
            f"`{self.name}` is {self.what}, of which only values can be read, as in `int({self.name.partition('[')[0]}[0])`: "
            "make it float32 to compute with it"
        )

    def read(self) -> Static:
        """`.item()`: its value, exactly. Raises Mismatch."""
        if self.tensor.numel() != 1:
            shape = tuple(self.tensor.shape)
            raise Mismatch(f"only a tensor of one element has a value to read; `{self.name}` has shape {shape}")
        return Static(self.tensor.item())

    def index(self) -> Static:
        """An int of it, as an index; PyTorch takes tensors of other dtypes for masks, or not at all. Raises Mismatch."""
        if self.tensor.numel() != 1 or self.tensor.dtype not in (torch.int64, torch.int32):
            raise Mismatch(f"`{self.name}`, {self.what} of shape {tuple(self.tensor.shape)}, is no index")
        return self.read()


Value: TypeAlias = Dyn | Static | Fixed | Closure | OneOf | TupleV | Module | Method | Held | HostTensor

HELD = {
    "iterator": "an iterator is exhausted by its first use: write list(...) around it",
    "index": "a tensor of an int serves as an index, nothing else",
    "ids": "a tensor of ints serves as the index of an embedding, nothing else",
    "batch": "a batch of one sentence of ints serves as the index of an embedding, nothing else",
}


NEW = (Fusion.ELEMENTWISE, Fusion.PRODUCT, Fusion.REDUCTION, Fusion.CONSTANT)
"""Operations whose result shares no memory with an operand (in eager PyTorch)."""


def unknown() -> Dyn:
    return Dyn(n.Var("?", UNKNOWN))


def guess(type: Any) -> Dyn:
    """A value of a known type that cannot be computed yet: types found with its help are right, the code is made anew."""
    return Dyn(n.Var("?", type))


def is_unknown(value: Value) -> bool:
    return isinstance(value, Dyn) and contains_unknown(value.type)


def contains_unknown(type: Any) -> bool:
    match type:
        case UnknownT():
            return True
        case TupleT(items):
            return any(contains_unknown(t) for t in items)
        case ListT(item):
            return contains_unknown(item)
    return False


class Mismatch(Exception):
    """Two values that must have one type do not."""


def join_types(a: Any, b: Any, numbers: bool = False) -> Any:
    """The type that covers both. With `numbers` a number may be where a tensor is on another path, as in `total = 0` before a
    loop that adds tensors: it is a tensor filled with it then. Raises Mismatch."""
    match a, b:
        case (UnknownT(), t) | (t, UnknownT()):
            return t
        case (ListT(rows=int()), TensorT()) | (TensorT(), ListT(rows=int())) if _covers(a, b) or _covers(b, a):
            return a if isinstance(a, ListT) else b
        case (TupleT(x), TupleT(y)) if len(x) == len(y):
            return TupleT(tuple(join_types(s, t, numbers) for s, t in zip(x, y, strict=True)))
        case ListT(x), ListT(y) if a.rows == b.rows and a.kind == b.kind:
            return replace(a, item=join_types(x, y))
        case (ScalarT("int" | "float"), TensorT(dtype="float32")) | (TensorT(dtype="float32"), ScalarT("int" | "float")) if (
            numbers
        ):
            return a if isinstance(a, TensorT) else b
        case ScalarT("int"), ScalarT("float"):
            return FLOAT
        case ScalarT("float"), ScalarT("int"):
            return FLOAT
    if a == b:
        return a
    raise Mismatch(f"{describe(a)} here, {describe(b)} there")


def extents(type: Any) -> tuple[int | None, ...] | None:
    """The extents of a tensor, None where each instance has its own; None for what is no tensor."""
    match type:
        case TensorT(shape):
            return shape
        case ListT(item, int() as k):
            inner = () if isinstance(item, ScalarT) else extents(item)
            return None if inner is None else (*inner[:k], None, *inner[k:])
    return None


def _covers(ragged: Any, dense: Any) -> bool:
    """Whether a dense tensor is a special case of a ragged one: the extents that are fixed in both agree."""
    wide, narrow = extents(ragged), extents(dense)
    return (
        isinstance(ragged, ListT)
        and isinstance(dense, TensorT)
        and dense.dtype == "float32"
        and wide is not None
        and narrow is not None
        and len(wide) == len(narrow)
        and all(w is None or w == e for w, e in zip(wide, narrow, strict=True))
    )


def describe(type: Any) -> str:
    """A type as the source's author thinks of it."""
    match type:
        case ListT(rows=int()):
            shape = ", ".join("n" if e is None else str(e) for e in extents(type) or ())
            return f"a tensor of shape ({shape}), whose extent n varies"
        case SymbolT():
            return "a string"
        case TensorT(shape, dtype):
            return f"a tensor of shape {shape}" + ("" if dtype == "float32" else f" and dtype {dtype}")
        case ScalarT(kind):
            return f"{'an' if kind == 'int' else 'a'} {kind}"
        case TupleT(items):
            return f"a tuple of {len(items)} ({', '.join(map(describe, items))})" if items else "an empty tuple"
        case ListT(kind="set" | "dict" as kind):
            return f"a {kind}"
        case ListT(UnknownT()):
            return "an empty list"
        case ListT(item):
            return f"a list of {plural(item)}"
        case DataT(name):
            return name
    return "a value of unknown type"


def type_or_none(value: Value) -> Any:
    """As `type_of`; None for what cannot be a value of the program."""
    try:
        return type_of(value)
    except Mismatch:
        return None


def known(value: Value) -> tuple[bool, Any]:
    """Whether the value is known at compile time, and then what it is."""
    if isinstance(value, Static):
        return True, value.value
    if isinstance(value, Dyn) and isinstance(value.atom, n.Lit):
        return True, value.atom.value
    return False, None


def is_number(value: Value) -> bool:
    return isinstance(type_or_none(value), ScalarT)


def is_list(value: Value) -> bool:
    """Whether the value is a list of Python's, and no ragged tensor, set or dictionary."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and t.kind == "list"


def is_container(value: Value) -> bool:
    """Whether the value is a list, set or dictionary of Python's."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.rows is None


def is_ragged(value: Any) -> bool:
    """Whether the value is a tensor with an extent that varies between instances."""
    return isinstance(value, Dyn) and isinstance(value.type, ListT) and value.type.rows is not None


def retyped(value: Dyn, type: Any) -> Dyn:
    """The same list seen as a list, or as a ragged tensor along another dimension."""
    assert isinstance(value.atom, n.Var)
    return Dyn(replace(value.atom, type=type))


def is_tensor(value: Any) -> bool:
    return isinstance(value, Dyn) and isinstance(value.type, TensorT)


def is_object(value: Any) -> bool:
    """Whether the value is an object of a class, or of one of several, or None."""
    return isinstance(value, Dyn) and isinstance(value.type, DataT)


def nothing_known(value: Value) -> bool:
    """Unknown, and not even a list whose items alone are unknown."""
    return is_unknown(value) and not is_container(value)


def plural(type: Any) -> str:
    """Several values of a type."""
    match type:
        case TensorT():
            return describe(type).replace("a tensor", "tensors", 1)
        case ScalarT(kind):
            return f"{kind}s"
        case TupleT() | ListT():
            return describe(type).replace("a tuple", "tuples", 1).replace("a list", "lists", 1)
    return describe(type)


class Builder:
    """A chain of lets under construction.

    A tensor that was changed in place is another variable from there on, under whatever name or in whatever expression it
    is held: `instead` says which. That can be done to tensors in `fresh`: made in this chain, and neither part of a value
    nor seen through a view, an argument or another chain.
    """

    def __init__(self, names: Names, instead: Mapping[str, n.Atom] | None = None) -> None:
        self.names = names
        self.bindings: list[tuple[n.Var, n.Expr]] = []
        self.fresh: set[str] = set()
        self.instead: dict[str, n.Atom] = dict(instead or {})

    def bind(self, expr: n.Expr, hint: str) -> Dyn:
        expr = substitute(expr, self.instead)
        if isinstance(expr, (n.Var, n.Lit, n.Weight)):
            return Dyn(expr)
        var = n.Var(self.names.fresh(hint), expr.type, span=expr.span)
        self.bindings.append((var, expr))
        if isinstance(expr, n.Op) and (OPS[expr.op].fusion in NEW or expr.op in ("cat", "stack", "scalar")):
            self.fresh.add(var.name)
        elif self.fresh and not isinstance(expr, n.Item):
            self.fresh -= free_vars(expr)
        return Dyn(var)

    def now(self, atom: n.Atom) -> n.Atom:
        """What an operand is after all that was changed in place."""
        return self.instead.get(atom.name, atom) if isinstance(atom, n.Var) else atom

    def change(self, before: n.Var, after: n.Var) -> None:
        """The fresh tensor `before` was changed in place, to `after`."""
        self.fresh.discard(before.name)
        self.instead = {k: after if v == before else v for k, v in self.instead.items()} | {before.name: after}

    def inner(self) -> Builder:
        return Builder(self.names, self.instead)

    def finish(self, result: n.Expr) -> n.Expr:
        return from_lets(self.bindings, result)


def type_of(value: Value) -> Any:
    """The type the value has as a value of the program. Raises Mismatch if it cannot be one."""
    match value:
        case Dyn():
            return value.type
        case TupleV(items):
            return TupleT(tuple(type_of(v) for v in items))
        case Static(tuple() as items):
            return TupleT(tuple(type_of(Static(v)) for v in items))
        case Static(bool()):
            return BOOL
        case Static(int()):
            return INT
        case Static(float()):
            return FLOAT
        case Static(None):
            return NONE
        case Static(str() | Enum()):
            return SYMBOL
        case Static(v):
            raise Mismatch(f"`{getattr(v, '__name__', v)}` cannot be kept in a variable of the compiled program")
        case Module(module=m):
            raise Mismatch(f"a module ({type(m).__name__}) cannot be chosen at run time")
        case Method(name=name):
            raise Mismatch(f"the method `{name}` cannot be kept in a variable of the compiled program")
        case OneOf():
            raise Mismatch("a module chosen at run time is called where it is chosen: `self.modules[i](x)`")
        case Closure():
            raise Mismatch("a lambda cannot be kept in a variable of the compiled program")
        case Held(kind):
            raise Mismatch(HELD[kind])
        case HostTensor():
            raise Mismatch(value.refusal)


@dataclass(frozen=True, slots=True)
class SymbolT:
    """The type of a string or a member of an Enum: only compared, and a key of dictionaries. A finished program has numbers for
    them (`boundary.Symbols`)."""


SYMBOL: Any = SymbolT()


@dataclass(frozen=True, slots=True)
class NoneT:
    """The type of `None` before it is known which optional it belongs to."""


NONE: Any = NoneT()
