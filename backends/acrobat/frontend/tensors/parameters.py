"""The parameters and buffers of a module: float32 ones are the program's weights, the values of others are constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backends.acrobat.memory import unusable


def plain_tensors(module: nn.Module) -> dict[str, Tensor]:
    """The module's own attributes that are tensors but neither parameters nor registered buffers, by name."""
    return {name: t for name, t in vars(module).items() if isinstance(t, Tensor)}


def named_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """All parameters, buffers and other tensors that are attributes, with the names they have in the module; a tensor under
    several names comes several times."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)
    for path, m in module.named_modules(remove_duplicate=False):
        yield from ((f"{path}.{name}" if path else name, t) for name, t in plain_tensors(m).items())


def is_weight(t: Tensor) -> bool:
    """Whether kernels can read the tensor."""
    return t.dtype == torch.float32 and not unusable(t)


def values_of(t: Tensor) -> np.ndarray:
    """The values of a weight, on the host. A lazily negated view gets its sign; bools are ones and zeros,
    ints are rounded as PyTorch rounds them."""
    array: np.ndarray = t.detach().resolve_neg().cpu().numpy()
    return array.astype(np.float32) if array.dtype in (np.bool_, np.int64) else array


def tie_key(t: Tensor) -> Any:
    """A key that is equal for tensors that share their memory, as tied parameters do: they are one weight."""
    return (t.data_ptr(), t.shape, t.stride(), t.dtype, t.is_neg()) if t.numel() else id(t)


def digest(t: Tensor) -> Any:
    """A key with the dtype, the shape and a hash of the values of a tensor that is no weight: the program depends on these."""
    if why := unusable(t):
        return why
    content = t.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return str(t.dtype), tuple(t.shape), hashlib.sha256(content).hexdigest()


def constants_of(module: nn.Module) -> tuple[Any, ...]:
    """A key of the module's own tensors that are no weights: modules with different keys share no compiled functions."""
    own = {**module._parameters, **module._buffers, **plain_tensors(module)}
    return tuple((k, digest(t)) for k, t in sorted(own.items()) if t is not None and not is_weight(t))
