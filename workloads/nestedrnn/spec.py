"""NestedRNN: sizes, parameters and random inputs.

Hidden size 256 (small) and 512 (large) and trip counts between 20 and 40 as in ACRoBat (MLSys 2024). An input is a normal
vector; an instance runs about 30 GRU steps and 900 RNN steps.

| parameter | shape |
| --- | --- |
| update, reset, weight and bias (columns: input, then state) | hidden, 2 hidden; hidden |
| candidate.weight, candidate.bias (columns: input, then r * state) | hidden, 2 hidden; hidden |
| node.weight, node.bias | hidden, hidden; hidden |
| edge.weight, edge.bias (columns: node, then state) | hidden, 2 hidden; hidden |
| node_count.weight, edge_count.weight; their biases | 1, hidden; 1 |

Weights are drawn so large that loops do not converge: last nodes still depend on the input, states on the trip count. Larger
ones would amplify the rounding of float32 beyond the tolerance: with an edge gain of 8 it is ten times what it is with 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads.spec import Decisions, ModelSpec, draw_key


class Spec(ModelSpec):
    """`decisions`: `simulated` ones are hashed from the sample's key, `real` ones follow from the computed probability."""

    name = "nestedrnn"
    model_class = "NestedRNN"
    shapes: ClassVar = {
        "tiny": {"hidden": 16, "low": 2, "high": 5},
        "small": {"hidden": 256, "low": 20, "high": 40},
        "large": {"hidden": 512, "low": 20, "high": 40},
    }
    gains: ClassVar = {"candidate": 4.0, "node": 2.0, "edge": 6.0}
    cells = ("gru", "emit", "step")

    def __init__(self, decisions: Decisions = "simulated") -> None:
        self.decisions = decisions

    def model_options(self) -> Mapping[str, Any]:
        return {"real": self.decisions == "real"}

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        import torch

        from workloads.nestedrnn.model import Sample

        return [
            Sample(torch.from_numpy(random.standard_normal(shape["hidden"], dtype=np.float32)), draw_key(random))
            for _ in range(n)
        ]
