"""Address functions: the shortest sum of strided digits that gives a list of numbers.

Moves (reshape, permute, slice, cat) are absorbed into kernels by carrying them out on arrays of addresses and then fitting a
function to the outcome; nothing needs to know what the moves were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Digit:
    """`(i // divisor) % modulus * stride`; modulus 0: no remainder is taken."""

    divisor: int
    modulus: int
    stride: int


@dataclass(frozen=True, slots=True)
class Walk:
    """`start` plus the digits of the index."""

    start: int
    digits: tuple[Digit, ...] = ()

    def __call__(self, i: int) -> int:
        return self.start + sum((i // d.divisor % d.modulus if d.modulus else i // d.divisor) * d.stride for d in self.digits)


def fit(values: np.ndarray) -> Walk | None:
    """The walk with `walk(i) == values[i]`, or None if the values have no such regularity."""
    values = np.asarray(values, np.int64)
    digits: list[Digit] = []
    divisor = 1
    rest = values
    while len(rest) > 1:
        stride = int(rest[1] - rest[0])
        steps = np.flatnonzero(np.diff(rest) != stride)
        run = int(steps[0]) + 1 if len(steps) else len(rest)
        if len(rest) % run or np.any(rest.reshape(-1, run) - rest[::run, None] != np.arange(run) * stride):
            return None
        digits.append(Digit(divisor, run if run < len(rest) else 0, stride))
        divisor *= run
        rest = rest[::run]
    return Walk(int(values[0]), tuple(d for d in digits if d.stride))
