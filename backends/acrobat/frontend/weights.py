"""Where the tensors of a module enter the program: what kernels read becomes a weight, other dtypes become constants whose
values the source may read, and what has no memory here is refused where it is used."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backends.acrobat.frontend.tensors import Refused, constant
from backends.acrobat.frontend.values import Held, HostTensor, Mismatch, Static, Value
from backends.acrobat.memory import unusable


def named_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """All parameters and buffers with the names they have in the module; a tensor under several names comes several times."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def is_weight(t: Tensor) -> bool:
    """Whether kernels can read the tensor."""
    return t.dtype == torch.float32 and not unusable(t)


def values_of(t: Tensor) -> np.ndarray:
    """The values a weight stands for: a lazily negated view has its sign, one of another device is brought here."""
    array: np.ndarray = t.detach().resolve_neg().cpu().numpy()
    return array


def tie_key(t: Tensor) -> Any:
    """Equal for tensors that share their memory, as tied parameters do: they are one weight."""
    return (t.data_ptr(), t.shape, t.stride(), t.dtype, t.is_neg()) if t.numel() else id(t)


def digest(t: Tensor) -> Any:
    """What a tensor that is no weight adds to the program: dtype, shape and values, in brief."""
    if why := unusable(t):
        return why
    content = t.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return str(t.dtype), tuple(t.shape), hashlib.sha256(content).hexdigest()


def constants_of(module: nn.Module) -> tuple[Any, ...]:
    """The module's own tensors that are no weights; functions that read them are shared by modules where they agree."""
    own = {**module._parameters, **module._buffers}
    return tuple((k, digest(t)) for k, t in sorted(own.items()) if t is not None and not is_weight(t))


def host_tensor(name: str, t: Tensor) -> HostTensor:
    """A parameter or buffer that kernels cannot read. Raises Refused if nobody can."""
    if why := unusable(t):
        raise Refused(f"`{name}` {why}")
    return HostTensor(t.detach().clone(), name)


# ---- what the source may do with one


def attribute(value: HostTensor, name: str) -> Static | None:
    """`.shape` and the like; None for what is a method or not in the language."""
    known = {"shape": tuple(value.tensor.shape), "ndim": value.tensor.ndim, "dtype": value.tensor.dtype}
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
        return HostTensor(value.tensor[at], f"{value.name}[{ast.unparse(written)}]")
    except (IndexError, ValueError, TypeError) as error:
        raise Refused(str(error)) from error
