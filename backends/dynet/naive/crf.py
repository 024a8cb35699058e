"""BiLSTM-CRF, one sentence after the other: the scores of a sentence's tags are read before the next sentence begins, so
nothing is batched across sentences."""

from __future__ import annotations

from collections.abc import Sequence

from backends.dynet import crf
from backends.dynet.engine import Graph


class Program(crf.Program):
    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        return [tags for sentence in minibatch for tags in super(Program, self).run([sentence], graph)]
