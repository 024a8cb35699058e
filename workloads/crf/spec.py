"""BiLSTM-CRF: sizes, parameters and sentences.

Hidden size 256 (small) and 512 (large) in each direction, word vectors as wide, as for ACRoBat's other models (MLSys 2024),
and 16 tags, as many as `birnn` has classes. Vocabulary and sentence lengths are those of WikiNER's dev file (8,504 distinct
words; 23.0 words on average), since finding named entities is the usual task of such taggers.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| start (both directions' first state; their first cell is zero) | hidden |
| ahead, behind: input, forget, output, candidate: weight (columns: word, then state), bias | hidden, 2 hidden; hidden |
| emission.weight, emission.bias (columns: forward, then backward) | tags, 2 hidden; tags |
| transitions (row: to; column: from), first, last | tags, tags; tags; tags |
"""

from __future__ import annotations

from typing import Any, ClassVar

from workloads.sentences import SentenceSpec


class Spec(SentenceSpec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`; None generates sentences."""

    name = "crf"
    model_class = "CRF"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "tags": 7},
        "small": {"vocabulary": 10_000, "hidden": 256, "tags": 16},
        "large": {"vocabulary": 10_000, "hidden": 512, "tags": 16},
    }
    gains: ClassVar = {
        **{f"{way}.{gate}": 1.5 for way in ("ahead", "behind") for gate in ("input", "forget", "output", "candidate")},
        "emission": 6.0,
        "transitions": 0.5,
    }
    cells = ("step", "emit", "paths")

    def scores(self, model: Any, instance: Any) -> Any:
        return model.scores(instance)
