"""Random model parameters. Each has its own stream of numbers, made from the seed and its name: a new one changes no other."""

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
    """A random state dict for `model`, whose values are not read, so that it may lie on the meta device.

    Values are normal around 0, with a standard deviation of gain / sqrt(inputs) for the weight of a Linear (so that inputs of
    size 1 give outputs of size gain), of 0.1 gain for a bias, and of gain for other parameters. The weight of a LayerNorm is
    normal around 1 with 0.1. `gains`: the gains that are not 1, by path of the module or name of the model's own parameter.
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
