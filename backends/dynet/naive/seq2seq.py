"""Seq2Seq, one sentence after the other: each reads every word's scores before the next sentence begins, so nothing is batched
across sentences."""

from __future__ import annotations

from backends.dynet import seq2seq
from backends.dynet.naive import OneAfterAnother


class Program(OneAfterAnother, seq2seq.Program):
    pass
