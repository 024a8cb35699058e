"""The order in which the parts of an expression are evaluated, where one part changes a list or object that another one names.

A name stands for a value of the program, which changing the list does not change: `f(xs, xs.pop())` gives `f` the shorter list.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.frontend.evaluator.syntax import root_of


def read_too_early(parts: Sequence[ast.expr], changed: set[str]) -> list[int]:
    """The numbers of those of `parts`, evaluated one after the other, that name one of the lists or objects `changed` before a
    later part that may change it, as it calls something."""
    calls = [any(isinstance(x, ast.Call) for x in ast.walk(part)) for part in parts]
    return [
        i
        for i, part in enumerate(parts)
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and root_of(part) in changed and any(calls[i + 1 :])
    ]


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression whose values are in its value, or are used when all of them are there, in order."""
    match node:
        case ast.Tuple(elts) | ast.List(elts) | ast.Set(elts):
            return [e.value if isinstance(e, ast.Starred) else e for e in elts]
        case ast.Dict(keys, values):
            return [x for k, v in zip(keys, values, strict=True) for x in (k, v) if x is not None]
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.Subscript(value, index):
            return [value, index]
    return []
