"""What stands in a function itself, without the functions, lambdas and classes inside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from weakref import WeakKeyDictionary

from backends.acrobat.frontend.syntax_nodes import children


@lru_cache(4096)  # asked for at each call
def is_generator(definition: ast.FunctionDef) -> bool:
    """Whether a function gives its values by `yield`."""
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own_nodes_of(definition))


@lru_cache(4096)  # asked for at each call
def gives_nothing(definition: ast.FunctionDef) -> bool:
    """Whether a function always gives None: none of its own `return`s has a value, and it is no generator."""
    returned = [x.value for x in own_nodes_of(definition) if isinstance(x, ast.Return)]
    nothing = all(value is None or isinstance(value, ast.Constant) and value.value is None for value in returned)
    return nothing and not is_generator(definition)


def operation_of(s: ast.AugAssign) -> ast.BinOp:
    """What an assignment with an operator computes for its name: `total + x` of `total += x`. It is the same node each time, so
    that what was found of the source holds for the node that is compiled."""
    assert isinstance(s.target, ast.Name)
    if s not in _OPERATIONS:
        read = ast.copy_location(ast.Name(s.target.id, ast.Load()), s.target)
        _OPERATIONS[s] = ast.copy_location(ast.BinOp(read, s.op, s.value), s)
    return _OPERATIONS[s]


_OPERATIONS: WeakKeyDictionary[ast.AugAssign, ast.BinOp] = WeakKeyDictionary()


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the nodes inside it, but for the bodies of functions, lambdas and classes inside it."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in children(node):
            yield from own_nodes(child)


def own_nodes_of(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes in a function's body, but for the bodies of functions, lambdas and classes inside it."""
    for s in definition.body:
        yield from own_nodes(s)


def operands_of(node: ast.expr) -> list[ast.expr]:
    """What an operation, a comparison, a call or an item is computed of: operands, the receiver of a method, arguments."""
    match node:
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.UnaryOp(_, operand):
            return [operand]
        case ast.Compare(left, _, others):
            return [left, *others]
        case ast.Subscript(owner):
            return [owner]
        case ast.Call(function, args, keywords):
            receiver = [function.value] if isinstance(function, ast.Attribute) else []
            return [*receiver, *args, *(k.value for k in keywords)]
    return []
