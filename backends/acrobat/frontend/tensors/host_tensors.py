"""Parameters and buffers that are not float32: kernels cannot read them, but the source may read their values, as constants."""

from __future__ import annotations

import ast
from typing import Any

import torch
from torch import Tensor

from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Held, Static, Value
from backends.acrobat.memory import unusable

METHODS_OF_CONSTANTS = frozenset({"item", "numel", "dim", "size"})
"""The methods whose results are constants."""


def host_tensor(name: str, t: Tensor) -> HostTensor:
    """The value of a parameter or buffer that kernels cannot read. Raises Refused if its memory cannot be read at all."""
    if why := unusable(t):
        raise Refused(f"`{name}` {why}")
    return HostTensor(t.detach().clone(), name, name)


def attribute(value: HostTensor, name: str) -> Static | None:
    """The value of `.shape`, `.ndim`, `.dtype` or `.device`; None for any other name."""
    known = {"shape": tuple(value.tensor.shape), "ndim": value.tensor.ndim, "dtype": value.tensor.dtype}
    known["device"] = torch.device("cpu")
    return Static(known[name]) if name in known else None


def method(value: HostTensor, name: str, args: list[Value]) -> Static:
    """`.item()`, `.size()` and the like. Raises Refused, Mismatch."""
    t = value.tensor
    match name, args:
        case "item", []:
            return value.read()
        case "numel", []:
            return Static(t.numel())
        case "dim", []:
            return Static(t.ndim)
        case "size", []:
            return Static(tuple(t.shape))
        case "size", [d]:
            at = constant(d, "the dimension of `size`")
            if isinstance(at, int) and -t.ndim <= at < t.ndim:
                return Static(t.shape[at])
            raise Refused(f"`size`: there is no dimension {at} in a tensor of rank {t.ndim}")
    raise Mismatch(value.refusal)


def element(f: Any, value: HostTensor, written: ast.expr) -> HostTensor:
    """`t[...]` with constant indices and slices. Raises Refused."""
    entries = written.elts if isinstance(written, ast.Tuple) else [written]

    def bound(e: ast.expr | None) -> Any:
        return None if e is None else known(f.expression(e))

    def known(v: Value) -> Any:
        match v:
            case HostTensor():
                return v.index().value
            case Held("index", inner):
                return known(inner)
        return constant(v, f"an index of `{value.name}`, {value.what},")

    at = tuple(slice(bound(e.lower), bound(e.upper), bound(e.step)) if isinstance(e, ast.Slice) else bound(e) for e in entries)
    if any(not (i is None or i is Ellipsis or isinstance(i, slice) or type(i) is int) for i in at):
        raise Refused(f"`{value.name}` is indexed with ints, slices, None and ... here")
    try:
        part = ast.Tuple([_as_index(i) for i in at], ast.Load()) if len(at) != 1 else _as_index(at[0])
        return HostTensor(value.tensor[at], f"{value.name}[{ast.unparse(written)}]", value.buffer, (*value.parts, part))
    except (IndexError, ValueError, TypeError) as error:
        raise Refused(str(error)) from error


def _as_index(at: Any) -> ast.expr:
    """A constant index, or a slice of constants, as it is written."""
    if isinstance(at, slice):
        return ast.Slice(*(None if x is None else ast.Constant(x) for x in (at.start, at.stop, at.step)))
    return ast.Constant(at)
