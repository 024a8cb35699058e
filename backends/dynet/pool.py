"""How large DyNet's memory pools are.

DyNet frees nothing within a graph: what counts are all nodes' values and the copies of scattered operands, which nobody knows
before it has run. A pool that is full grows by a block; at the next graph the blocks become one, which it keeps. So it starts
small and is made to grow before anything is timed, by a mini-batch larger than the others. Start-up writes to every page of
a pool, so starting with far too much would be no better.
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
    """A mini-batch of so many more instances that hardly one of `batch_size` needs more memory: the sums of few instances vary
    more than those of many."""
    return list(islice(cycle(instances), int(np.ceil(batch_size * (1 + batch_size**-0.5)))))


def parameters_mb(arrays: Mapping[str, np.ndarray]) -> int:
    """For the parameters and their gradients, which DyNet allocates though nothing is trained."""
    return int(2.2 * sum(array.nbytes for array in arrays.values()) / 2**20) + MARGIN_MB
