"""How large DyNet's memory pools must be, so that they never grow while something is timed.

DyNet frees nothing within a graph, and start-up writes to every page of its pools, so neither too small nor too large.
"""
from __future__ import annotations
from collections.abc import Mapping
from typing import Any
import numpy as np

def megabytes(name, model, arrays, batch_size): return 256 if name != 'berxit' else 1500
def parameters(arrays: Mapping[str, np.ndarray]) -> int:
    return 16 + 2 * sum(a.nbytes for a in arrays.values()) * 11 // 10 // 2**20
