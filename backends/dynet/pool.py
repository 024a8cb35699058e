"""How large DyNet's memory pools have to be, so that they need not grow.

DyNet frees nothing within a graph: what counts are all nodes' values and the copies of scattered operands. Growing is slow,
but start-up writes to every page of the pools, so far too much is no better. A pool that has grown stays large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MARGIN_MB = 8

# Numbers per instance, measured on the workloads' own instances as multiples of what they are proportional to.
NUMBERS: Mapping[str, Callable[[Any], float]] = {
    "treelstm": lambda model: 1000 * model.classifier.in_features,
    "mvrnn": lambda model: 100 * model.hidden**2,
    "birnn": lambda model: 500 * model.classifier.in_features / 2,
    "nestedrnn": lambda model: 6 * ((model.low + model.high) / 2) ** 2 * model.hidden,
    "drnn": lambda model: 500 * model.hidden,
    "berxit": lambda model: 60 * (model.layers + 1) / 2 * model.sequence * model.hidden,
    "stackrnn": lambda model: 1500 * model.classifier.in_features,
}


def values_mb(workload: str, model: Any, arrays: Mapping[str, np.ndarray], batch_size: int) -> int:
    """For a graph's values. Every graph has a copy of all parameters except those that rows are looked up in."""
    spread = 1 + batch_size**-0.5  # sums over few instances vary more
    copies = sum(array.nbytes for array in arrays.values() if array.ndim < 2 or len(array) < 10 * array.shape[1])
    return _mb(4 * NUMBERS[workload](model) * batch_size * spread + copies)


def parameters_mb(arrays: Mapping[str, np.ndarray]) -> int:
    """For the parameters and their gradients, which DyNet allocates though nothing is trained."""
    return _mb(2.2 * sum(array.nbytes for array in arrays.values()))


def _mb(size: float) -> int:
    return int(size / 2**20) + MARGIN_MB
