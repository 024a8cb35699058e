"""BiLSTM-CRF, one sentence after the other: the scores of a sentence's tags are read before the next sentence begins, so
nothing is batched across sentences."""

from __future__ import annotations

from backends.dynet import crf
from backends.dynet.naive import OneAfterAnother


class Program(OneAfterAnother, crf.Program):
    pass
