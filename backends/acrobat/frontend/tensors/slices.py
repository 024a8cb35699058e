"""Slices of one part, `x[i : i + 1]`: the extent that they leave is 1, however long the tensor is."""

from __future__ import annotations

import ast
from dataclasses import replace

from backends.acrobat.core.types import ListT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, at, item_type
from backends.acrobat.frontend.kinds import is_ragged, is_unknown, retyped
from backends.acrobat.frontend.tensors.fixing import with_check
from backends.acrobat.frontend.tensors.lifting import axis, is_numbers, select
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.values import Dyn, Static, Value
from backends.acrobat.ir import nodes as n

LARGEST = 64
"""The most parts of a tensor of fixed shape that a slice takes, or an assignment puts together, one by one."""


def one_place(f: Frame, e: ast.Slice) -> Value | None:
    """The `i` of a slice `i : i + 1`, where `i` is a name whose value is known at run time only; None for other slices. It is
    checked to be no negative one, for which Python's slice may be empty."""
    match e:
        case ast.Slice(ast.Name(name) as i, ast.BinOp(ast.Name(again), ast.Add(), ast.Constant(1)), None) if name == again:
            value = f.expression(i)
            text = "IndexError: a slice of one part begins at {0}"
            return with_check(f, "ge", value, Static(0), text, lambda: value) if isinstance(value, Dyn) else None
    return None


def one_part(f: Frame, x: Array, dim: int, i: Value) -> Value:
    """`x[i : i + 1]` along a dimension, as a tensor with the extent 1 there. An index behind the end is an error."""
    if is_unknown(i):
        return i
    if is_ragged(x) and is_numbers(x) and dim == axis(x):
        part = at(f, retyped(x, ListT(item_type(x))), i)
        return f.bind(n.ListOf((f.atom(part),), replace(x.type, extent=1), span=f.span), "part")
    part = select(f, x, dim, i)  # type: ignore[assignment]
    return call_operation(f, "unsqueeze", CallArguments("unsqueeze", [part, Static(dim)], {}))
