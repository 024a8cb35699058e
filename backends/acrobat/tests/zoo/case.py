"""What one model of the zoo consists of, and the list that the models add themselves to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    """A model of the zoo.

    `build()` makes the module, `instance(rng)` draws one instance; the module is called with that instance alone."""

    name: str
    build: Callable[[], nn.Module]
    instance: Callable[[Random], Any]

    def module(self) -> nn.Module:
        """The module in evaluation mode, its weights drawn from a fixed seed."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return self.build().eval()

    def instances(self, n: int, seed: int = 0) -> list[Any]:
        """`n` instances, drawn anew each time: models may write into them."""
        rng = Random(seed)
        return [self.instance(rng) for _ in range(n)]


CASES: list[Case] = []


def case(build: Callable[[], nn.Module]) -> Callable[[Callable[[Random], Any]], Callable[[Random], Any]]:
    """Decorates the function that draws an instance: adds the model that `build` makes to the zoo, named after that function."""

    def add(instance: Callable[[Random], Any]) -> Callable[[Random], Any]:
        assert instance.__name__ not in {known.name for known in CASES}, f"two models are named {instance.__name__}"
        CASES.append(Case(instance.__name__, build, instance))
        return instance

    return add


def vector(rng: Random, *shape: int) -> torch.Tensor:
    """A tensor of normally distributed numbers drawn from `rng`."""
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    return torch.randn(*shape, generator=generator)


def words(rng: Random, low: int, high: int, vocabulary: int = 30) -> list[int]:
    """A sentence of `low` to `high` word ids."""
    return [rng.randrange(vocabulary) for _ in range(rng.randint(low, high))]
