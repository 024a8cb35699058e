"""NestedRNN, one instance after the other: each reads the values that its control flow waits for before the next one begins, so
nothing is batched across instances."""

from __future__ import annotations

from backends.dynet import nestedrnn
from backends.dynet.naive import OneAfterAnother


class Program(OneAfterAnother, nestedrnn.Program):
    pass
