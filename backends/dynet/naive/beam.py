"""Beam search, one sentence after the other: each reads the scores of every step before the next sentence begins, so nothing
is batched across sentences."""

from __future__ import annotations

from backends.dynet import beam
from backends.dynet.naive import OneAfterAnother


class Program(OneAfterAnother, beam.Program):
    pass
