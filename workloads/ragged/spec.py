"""Ragged: sizes, parameters and sentences.

Small is the base model of Vaswani et al. (2017), 6 layers of 8 heads of 64 with an inner size of four times the hidden size,
which is what CoRa (MLSys 2022) measures; large is their big model, 16 heads. Sentences have the lengths of WikiNER's (23.0
words on average, at most 144), vocabulary 10,000. Each layer has weights of its own. The weights of residual branches are
small, as in `berxit`, so that sentences still differ after the last layer.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| positions.weight | positions, hidden |
| layers.i: query, key, value, weight and bias (rows: head after head) | hidden, hidden; hidden |
| layers.i: attended.weight, attended.bias | hidden, hidden; hidden |
| layers.i: attention_norm and layer_norm, weight and bias | hidden |
| layers.i: expand.weight, expand.bias | 4 hidden, hidden; 4 hidden |
| layers.i: contract.weight, contract.bias | hidden, 4 hidden; hidden |
"""

from __future__ import annotations

from typing import ClassVar

from workloads.sentences import SentenceSpec
from workloads.text import DataError, lines

LAYERS = 6
GAINS = {"query": 1.4, "key": 1.4, "value": 2.0, "attended": 0.3, "contract": 0.3, "attention_norm": 0.1, "layer_norm": 0.1}


class Spec(SentenceSpec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`, at most `positions` of them; None generates
    sentences."""

    name = "ragged"
    model_class = "Ragged"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "heads": 2, "head_size": 8, "layers": 2, "positions": 200},
        "small": {"vocabulary": 10_000, "heads": 8, "head_size": 64, "layers": LAYERS, "positions": 512},
        "large": {"vocabulary": 10_000, "heads": 16, "head_size": 64, "layers": LAYERS, "positions": 512},
    }
    gains: ClassVar = {f"layers.{i}.{name}": gain for i in range(LAYERS) for name, gain in GAINS.items()}
    cells = ("apply_layer",)

    def check(self, size: str) -> None:
        super().check(size)
        positions = self.shape(size)["positions"]
        for number, line in lines(self.data) if self.data is not None else ():
            if (words := len(line.split())) > positions:
                raise DataError(f"{self.data}:{number}: a sentence of {words} words; the model has {positions} positions")
