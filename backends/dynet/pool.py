"""The sizes of DyNet's memory pools.

DyNet frees nothing within a graph: a pool must hold the values of all nodes and the copies of scattered operands, and how much
that is shows only when the graph runs. A full pool grows by a block; at the next graph its blocks become one, which it keeps.
So the pool starts small, and before anything is timed a mini-batch larger than the others makes it grow. Starting with a very
large pool would be no better, since start-up writes to every page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import TypeVar

import numpy as np

T = TypeVar("T")

START_MB = 64
MARGIN_MB = 8


def larger(instances: Sequence[T], batch_size: int) -> list[T]:
    """A mini-batch with so many more instances that hardly any mini-batch of `batch_size` needs more memory. The smaller the
    batch size, the larger the margin, since sums over few instances vary more."""
    return list(islice(cycle(instances), int(np.ceil(batch_size * (1 + batch_size**-0.5)))))


def parameters_mb(arrays: Mapping[str, np.ndarray]) -> int:
    """The megabytes for the parameters and their gradients, which DyNet allocates though nothing is trained."""
    return int(2.2 * sum(array.nbytes for array in arrays.values()) / 2**20) + MARGIN_MB
