"""Address functions: lists of numbers written as the shortest sum of strided digits of the index.

Kernels absorb moves (reshape, permute, slice, cat). The compiler carries out the moves on arrays of addresses and then fits an
address function to the resulting array, so that no template has to know which moves there were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Digit:
    """One term of a walk: `(i // divisor) % modulus * stride`, or `(i // divisor) * stride` if the modulus is 0."""

    divisor: int
    modulus: int
    stride: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A function from an index to an address: `start` plus the digits of the index."""

    start: int
    digits: tuple[Digit, ...] = ()

    def __call__(self, i: int) -> int:
        return self.start + sum((i // d.divisor % d.modulus if d.modulus else i // d.divisor) * d.stride for d in self.digits)


def fit(values: np.ndarray) -> Walk | None:
    """The walk with `walk(i) == values[i]`, or None if no sum of digits gives these values."""
    values = np.asarray(values, np.int64)
    digits: list[Digit] = []
    divisor = 1
    heads = values  # the first value of each period of the digits so far
    while len(heads) > 1:
        stride = int(heads[1] - heads[0])
        steps = np.flatnonzero(np.diff(heads) != stride)
        run = int(steps[0]) + 1 if len(steps) else len(heads)
        if len(heads) % run or np.any(heads.reshape(-1, run) - heads[::run, None] != np.arange(run) * stride):
            return None
        digits.append(Digit(divisor, run if run < len(heads) else 0, stride))
        divisor *= run
        heads = heads[::run]
    return Walk(int(values[0]), tuple(d for d in digits if d.stride))
