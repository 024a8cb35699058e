"""Helpers to write programs of the core IR by hand."""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import FLOAT, INT, Case, DataT, DataType, ListT, TensorT, TupleT, Type
from backends.acrobat.ir.nodes import Atom, Call, Expr, Function, Host, Let, Lit, Op, Program, Var, Weight

H = TensorT((4,))
W = TensorT((4, 4))
SCORE = TensorT((1,))
TABLE = TensorT((10, 4))
TREE = DataT("Tree")
TREES = {
    "Tree": DataType("Tree", (Case("Leaf", (("word", INT),)), Case("Node", (("children", ListT(TREE)),)))),
}
STACKS = {
    "Stack": DataType("Stack", (Case("Empty", ()), Case("Push", (("value", H), ("below", DataT("Stack")), ("weight", W))))),
}


def weight(name: str, t: TensorT = W) -> Weight:
    return Weight(name, t)


def op(name: str, *args: Atom, type: TensorT = H, **attrs: Any) -> Op:
    return Op(name, args, tuple(sorted(attrs.items())), type)


def host(name: str, type: Type, *args: Atom) -> Host:
    return Host(name, args, type)


def lit(value: int | float) -> Lit:
    return Lit(value, INT if isinstance(value, int) else FLOAT)


class Chain:
    """Collects bindings, so that a body can be written top down: `x = chain("x", value)` binds a variable."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Var, Expr]] = []

    def __call__(self, name: str, value: Expr) -> Var:
        var = Var(name, value.type)
        self._bindings.append((var, value))
        return var

    def end(self, tail: Expr) -> Expr:
        for var, value in reversed(self._bindings):
            tail = Let(var, value, tail)
        return tail


def function(name: str, params: tuple[Var, ...], body: Expr) -> Function:
    return Function(name, params, body.type, body)


def program(*functions: Function, datatypes: dict[str, DataType] | None = None, **weights: TensorT) -> Program:
    return Program({f.name: f for f in functions}, datatypes or {}, weights)


def call(function: str, type: Type, *args: Atom) -> Call:
    return Call(function, args, type)


def pair(a: Type, b: Type) -> TupleT:
    return TupleT((a, b))
