"""Seq2Seq, one sentence after the other: each reads every word's scores before the next sentence begins, so nothing is batched
across sentences."""

from __future__ import annotations

from collections.abc import Sequence

from backends.dynet import seq2seq
from backends.dynet.engine import Graph


class Program(seq2seq.Program):
    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        return [words for sentence in minibatch for words in super(Program, self).run([sentence], graph)]
