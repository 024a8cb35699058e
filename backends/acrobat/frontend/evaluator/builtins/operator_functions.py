"""The functions of `operator` that are an operator of the language: `operator.add(a, b)`, `map(operator.lt, xs, ys)`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.operators import binary, unary
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS
from backends.acrobat.frontend.values import Value


def _operator(work: Callable[..., Value], of: type[ast.operator] | type[ast.unaryop], *names: str) -> Callable[..., Value]:
    """The handler of a function that is an operator."""

    def handler(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        return work(f, node, of(), *CallArguments("the operator", args, kwargs).bind(*names))

    return handler


UNARY: dict[Any, type[ast.unaryop]] = {
    operator.neg: ast.USub,
    operator.pos: ast.UAdd,
    operator.inv: ast.Invert,
}
OPERATORS: dict[Any, type[ast.operator]] = {
    operator.add: ast.Add,
    operator.sub: ast.Sub,
    operator.mul: ast.Mult,
    operator.truediv: ast.Div,
    operator.floordiv: ast.FloorDiv,
    operator.mod: ast.Mod,
    operator.pow: ast.Pow,
    operator.matmul: ast.MatMult,
    operator.and_: ast.BitAnd,
    operator.or_: ast.BitOr,
    operator.xor: ast.BitXor,
    operator.lshift: ast.LShift,
    operator.rshift: ast.RShift,
}
COMPARISONS: dict[Any, type[ast.cmpop]] = {
    operator.eq: ast.Eq,
    operator.ne: ast.NotEq,
    operator.lt: ast.Lt,
    operator.le: ast.LtE,
    operator.gt: ast.Gt,
    operator.ge: ast.GtE,
    operator.is_: ast.Is,
    operator.is_not: ast.IsNot,
}


def _written(write: Callable[..., ast.expr], *names: str) -> Callable[..., Value]:
    """The handler of a function that is as an expression of its arguments, which have these names."""

    def handler(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        values = CallArguments("the operator", args, kwargs).bind(*names)
        written = write(*(ast.copy_location(CompiledNode(v), node) for v in values))
        return f.expression(ast.copy_location(written, node), hint)

    return handler


def _comparison(of: type[ast.cmpop]) -> Callable[..., Value]:
    return _written(lambda a, b: ast.Compare(a, [of()], [b]), "a", "b")


FUNCTIONS |= {function: _operator(unary, of, "a") for function, of in UNARY.items()}
FUNCTIONS |= {function: _operator(binary, of, "a", "b") for function, of in OPERATORS.items()}
FUNCTIONS |= {function: _comparison(of) for function, of in COMPARISONS.items()}
FUNCTIONS[operator.not_] = _written(lambda a: ast.UnaryOp(ast.Not(), a), "a")
FUNCTIONS[operator.contains] = _written(lambda a, b: ast.Compare(b, [ast.In()], [a]), "a", "b")
FUNCTIONS[operator.getitem] = _written(lambda a, b: ast.Subscript(a, b, ast.Load()), "a", "b")
