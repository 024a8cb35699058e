"""Beam search, one sentence after the other: each reads the scores of every step before the next sentence begins, so nothing
is batched across sentences."""

from __future__ import annotations

from collections.abc import Sequence

from backends.dynet import beam
from backends.dynet.engine import Graph


class Program(beam.Program):
    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        return [words for sentence in minibatch for words in super(Program, self).run([sentence], graph)]
