"""The tensors of a module as the program has them: what kernels read are weights, the values of other dtypes are constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

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
