"""Which functions a call may call, if the source makes their name at run time or keeps the function in a variable:
`getattr(self, "visit_" + type(node).__name__)(node, env)`."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.rewriting.desugar import plainly
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.syntax_nodes import every_node, mentions, parameter_names


def meanings(function: types.FunctionType, owner: type | None, callee: ast.expr) -> list[ast.expr]:
    """The expressions that `callee`, of a call in `function`, may stand for: the value of a variable that is assigned once,
    both sides of a conditional expression, the methods whose names fit what is known of the name in a `getattr`. `owner` is the
    class of the object whose method `function` is, or None."""
    return _meant(function, owner, callee, {})


def is_receiver(function: types.FunctionType, name: str) -> bool:
    """Whether a name is that of the first parameter, which is the object in a method."""
    return function.__code__.co_argcount > 0 and function.__code__.co_varnames[0] == name


def _meant(function: types.FunctionType, owner: type | None, callee: ast.expr, visited: dict[str, None]) -> list[ast.expr]:
    match callee:
        case ast.Name(name) if name not in visited and name in function.__code__.co_varnames:
            value = _assigned_once(function, name)
            return [callee] if value is None else _meant(function, owner, value, {**visited, name: None})
        case ast.IfExp(body=one, orelse=other):
            return _meant(function, owner, one, visited) + _meant(function, owner, other, visited)
        case ast.Call(ast.Name("getattr"), [ast.Name(me) as receiver, name, *default]) if owner is not None and is_receiver(
            function, me
        ):
            start = _start_of(function, name)
            possible = [m for m in dir(owner) if start is not None and m.startswith(start) and not m.startswith("__")]
            methods: list[ast.expr] = [ast.copy_location(ast.Attribute(receiver, m, ast.Load()), callee) for m in possible]
            return methods + [x for d in default for x in _meant(function, owner, d, visited)]
    return [callee]


def _assigned_once(function: types.FunctionType, name: str) -> ast.expr | None:
    """The expression that a function assigns to a local name, if it does so once and nowhere else."""
    tree = plainly(source_of(function)[0])
    stores = mentions(tree, name, ast.Store)
    if len(stores) != 1 or name in parameter_names(tree):
        return None
    return next((x.value for x in every_node(tree) if isinstance(x, ast.Assign) and _is(x.targets, name)), None)


def _is(targets: Sequence[ast.expr], name: str) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _start_of(function: types.FunctionType, text: ast.expr) -> str | None:
    """What is known of the start of a string: all of a constant, what stands before the first value of an f-string or a sum.
    None where nothing is known."""
    match text:
        case (
            ast.Constant(str(start))
            | ast.JoinedStr([ast.Constant(str(start)), *_])
            | ast.BinOp(ast.Constant(str(start)), ast.Add())
        ):
            return start
        case ast.BinOp(left, ast.Add()):
            return _start_of(function, left)
        case ast.Name(name):
            value = _assigned_once(function, name)
            return None if value is None or isinstance(value, ast.Name) else _start_of(function, value)
    return None
