"""BiRNN: sizes, parameters and sentences.

Hidden size 256 (small) and 512 (large), word vectors as wide, and 16 classes, as in ACRoBat (MLSys 2024). The vocabulary is
10,000, since the sentences of WikiNER's dev file have 8,504 distinct words; their lengths (23.0 words on average) are used too.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| forward_start, backward_start | hidden |
| forward_cell.weight, backward_cell.weight (columns: word, then state) | hidden, 2 hidden |
| forward_cell.bias, backward_cell.bias | hidden |
| classifier.weight, classifier.bias (columns: forward, then backward) | classes, 2 hidden; classes |
"""

from __future__ import annotations

from typing import Any, ClassVar

from workloads.sentences import SentenceSpec


class Spec(SentenceSpec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`; None generates sentences."""

    name = "birnn"
    model_class = "BiRNN"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 7},
        "small": {"vocabulary": 10_000, "hidden": 256, "classes": 16},
        "large": {"vocabulary": 10_000, "hidden": 512, "classes": 16},
    }
    gains: ClassVar = {"forward_cell": 1.5, "backward_cell": 1.5, "classifier": 3.0}
    cells = ("step", "classify")

    def scores(self, model: Any, instance: Any) -> Any:
        return model.scores(instance)
