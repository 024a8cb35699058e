"""BERxiT: sizes, parameters and random inputs.

Small is BERT-base (12 heads of 64, 12 layers), large is BERT-large (16 heads of 64) with 18 layers, both with an inner size of
four times the hidden size, sequences of 128 and 16 classes, as in ACRoBat (MLSys 2024). All layers share one set of weights. An
input is a matrix of normal random numbers, as after the embedding's layer norm. Simulated exits are uniform over the layers.
The weights of residual branches are small, since twelve times one random layer would map every input to the same output.

| parameter | shape |
| --- | --- |
| query, key, value, weight and bias (rows: head after head) | hidden, hidden; hidden |
| attended.weight, attended.bias | hidden, hidden; hidden |
| attention_norm and layer_norm, weight and bias | hidden |
| expand.weight, expand.bias | 4 hidden, hidden; 4 hidden |
| contract.weight, contract.bias | hidden, 4 hidden; hidden |
| certainty.weight, certainty.bias | 1, hidden; 1 |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads.spec import Decisions, ModelSpec, draw_key


class Spec(ModelSpec):
    """`decisions`: `simulated` ones are hashed from the sample's key, `real` ones follow from the computed probability."""

    name = "berxit"
    model_class = "Berxit"
    shapes: ClassVar = {
        "tiny": {"heads": 2, "head_size": 8, "sequence": 8, "layers": 3, "classes": 7},
        "small": {"heads": 12, "head_size": 64, "sequence": 128, "layers": 12, "classes": 16},
        "large": {"heads": 16, "head_size": 64, "sequence": 128, "layers": 18, "classes": 16},
    }
    gains: ClassVar = {
        "query": 2.0,
        "key": 2.0,
        "value": 2.0,
        "attended": 0.3,
        "contract": 0.2,
        "attention_norm": 0.1,
        "layer_norm": 0.1,
        "classifier": 2.0,
    }
    cells = ("layer", "certain", "classify")

    def __init__(self, decisions: Decisions = "simulated") -> None:
        self.decisions = decisions

    def model_options(self) -> Mapping[str, Any]:
        return {"real": self.decisions == "real"}

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        import torch

        from workloads.berxit.model import Sample

        size = shape["sequence"], shape["heads"] * shape["head_size"]
        return [Sample(torch.from_numpy(random.standard_normal(size, dtype=np.float32)), draw_key(random)) for _ in range(n)]

    def scores(self, model: Any, instance: Any) -> Any:
        return model.scores(instance)
