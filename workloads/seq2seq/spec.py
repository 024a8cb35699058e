"""Seq2Seq: sizes, parameters and sentences.

Hidden size 256 (small) and 512 (large), word vectors as wide, as for ACRoBat's other models (MLSys 2024). Source sentences have
the lengths of WikiNER's (23.0 words on average), whose dev file has 8,504 distinct words: vocabulary 10,000. A target has at
most 60 words of a vocabulary of 1,000.

The end of a sentence has larger weights than other words, by the factor `END_GAIN`, and the gains below make each word depend
on the words before it, so that sentences end after different numbers of words (small: 20 on average, with standard deviation
17; one in twenty at the maximum). The output's weights are large, too, so that the best two scores differ clearly: in 40
sentences of `small` by at least 7e-5 of the largest score, while the error of float32 is 2e-6.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| target_embedding.weight | targets, hidden |
| start (the encoder's first state) | hidden |
| encoder, decoder: update, reset, candidate: weight (columns: word, then state), bias | hidden, 2 hidden; hidden |
| query.weight | hidden, hidden |
| combine.weight, combine.bias (columns: context, then state) | hidden, 2 hidden; hidden |
| output.weight, output.bias (row 0: the end) | targets, hidden; targets |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from workloads.sentences import SentenceSpec

END_GAIN = {"tiny": 3.0, "small": 2.0, "large": 2.6}
"""The factor on the output weights of the word `END`, by size."""


class Spec(SentenceSpec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`; None generates sentences."""

    name = "seq2seq"
    model_class = "Seq2Seq"
    shapes: ClassVar[Mapping[str, Mapping[str, int]]] = {
        "tiny": {"vocabulary": 100, "hidden": 16, "targets": 12, "longest": 10},
        "small": {"vocabulary": 10_000, "hidden": 256, "targets": 1_000, "longest": 60},
        "large": {"vocabulary": 10_000, "hidden": 512, "targets": 1_000, "longest": 60},
    }
    gains: ClassVar = {
        "target_embedding": 2.0,
        "encoder.candidate": 1.5,
        "decoder.candidate": 1.2,
        "query": 2.0,
        "combine": 1.5,
        "output": 3.0,
    }
    cells: ClassVar[Sequence[str]] = ("step", "attend", "classify")

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        params = super().params(size, seed)
        params["output.weight"][0] *= np.float32(END_GAIN[size])
        return params

    def margins(self, model: Any, instance: Any) -> list[float]:
        """For each word and the end: how much the best score exceeds the second best, relative to the largest absolute score.
        After `longest` words decoding stops without a choice, so the end has no margin."""
        best = [(scores.topk(2).values, scores.abs().max()) for scores in model.scores(instance)]
        return [float((top[0] - top[1]) / largest) for top, largest in best]
