"""Arrays that are computed where they shall lie.

Memory that is new to the process costs as much as a few passes through it, and tables of words are as large as all other
weights of their model. So what makes a large array says how, and the device's memory has it made in place. With that, and since
weights that only kernels read are in memory packed alone, an encoder of 12 layers (150 MB) is taken from the cache in 0.13 to
0.18 s where it took 0.23 at best, and a tagger with two tables of 10,000 words in 0.16 to 0.18 s: the product that makes the
tables takes two thirds of that, at a rate near the processor's peak. Tables are not kept on disk, 80 MB for each set of
weights: to read and check them would take 0.05 s where the system has the file in memory, and may take longer than the product
where it has not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


@dataclass(frozen=True, slots=True)
class Unwritten:
    """An array of float32 of which `write(out)` writes the elements to an array of this shape. For numpy it is an array, which
    is made each time that numpy asks for it."""

    shape: tuple[int, ...]
    write: Callable[[np.ndarray], None]
    dtype = np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        out = np.empty(self.shape, self.dtype)
        self.write(out)
        return out if dtype is None else out.astype(dtype, copy=False)


Source: TypeAlias = np.ndarray | Unwritten
"""What an array in memory is filled from."""


def write(source: Source, out: np.ndarray) -> None:
    """Writes the elements of `source` to `out`, which has its shape and dtype."""
    if isinstance(source, Unwritten):
        source.write(out)
    else:
        np.copyto(out, source)
