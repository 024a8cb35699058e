"""Model parameters drawn from a seed, each from a stream of its own name: adding one parameter changes no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from torch import nn


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of `name` under `seed`, independent of those of every other name."""
    return np.random.default_rng([seed, crc32(name.encode())])


def draw(model: nn.Module, seed: int, gains: Mapping[str, float]) -> dict[str, np.ndarray]:
    """A state dict for `model` (its own values are not read, so it may lie on the meta device).

    Normal around zero: the weights of a Linear with standard deviation gain / sqrt(inputs), so that unit inputs give outputs of
    size `gain`, embeddings with `gain`, biases with 0.1 of it, other vectors with it; a LayerNorm's weight is around one, with
    0.1. `gains` holds what is not 1, by the name of the module or of the bare parameter.
    """
    from torch import nn

    params = {}
    for path, module in model.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            name = f"{path}.{leaf}" if path else leaf
            noise = stream(seed, name).standard_normal(tuple(parameter.shape), dtype=np.float32)
            gain = gains.get(path or leaf, 1.0)
            match module, leaf:
                case nn.LayerNorm(), "weight":
                    params[name] = np.float32(1) + np.float32(0.1) * noise
                case nn.Linear(), "weight":
                    params[name] = noise * np.float32(gain / parameter.shape[1] ** 0.5)
                case _, "bias":
                    params[name] = noise * np.float32(0.1 * gain)
                case _:
                    params[name] = noise * np.float32(gain)
    return params
