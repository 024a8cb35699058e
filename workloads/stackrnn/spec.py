"""StackRNN: sizes, parameters and sentences.

Hidden size 256 (small) and 512 (large), word vectors as wide, as for ACRoBat's other models (MLSys 2024), and three classes as
in XNLI, the source of that paper's sentences. Ours have the lengths of WikiNER's (23.0 words on average), whose dev file has
8,504 distinct words: vocabulary 10,000. A sentence of n words takes n shifts and n - 1 reductions.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| actions.weight (rows: shift, reduce) | 2, hidden |
| stack_start, buffer_start, action_start | hidden |
| stack_cell.weight, buffer_cell.weight, action_cell.weight (columns: input, then state) | hidden, 2 hidden |
| stack_cell.bias, buffer_cell.bias, action_cell.bias | hidden |
| composition.weight, composition.bias (columns: left, then right) | hidden, 2 hidden; hidden |
| summary.weight, summary.bias (columns: stack, buffer, actions) | hidden, 3 hidden; hidden |
| action_scores.weight, action_scores.bias (rows: shift, reduce) | 2, hidden; 2 |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads.sentences import SentenceSpec
from workloads.spec import Decisions, draw_key


class Spec(SentenceSpec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`; None generates sentences. `decisions`:
    `simulated` ones are hashed from the sentence's key, `real` ones follow from the computed probability."""

    name = "stackrnn"
    model_class = "StackRNN"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 3},
        "small": {"vocabulary": 10_000, "hidden": 256, "classes": 3},
        "large": {"vocabulary": 10_000, "hidden": 512, "classes": 3},
    }
    gains: ClassVar = {
        "stack_cell": 1.3,
        "buffer_cell": 1.3,
        "action_cell": 1.3,
        "composition": 1.5,
        "summary": 2.0,
        "action_scores": 1.5,
        "classifier": 2.0,
    }
    cells = ("step", "compose", "p_reduce")

    def __init__(self, data: str | None = None, decisions: Decisions = "simulated") -> None:
        super().__init__(data)
        self.decisions = decisions

    def model_options(self) -> Mapping[str, Any]:
        return {"real": self.decisions == "real"}

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.stackrnn.model import Sentence

        (keys,) = random.spawn(1)
        return [Sentence(sentence, draw_key(keys)) for sentence in super().samples(shape, random, n)]
