"""DRNN, one instance after the other: each reads the values that its control flow waits for before the next one begins, so
nothing is batched across instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.dynet import drnn
from backends.dynet.engine import Graph
from workloads.drnn.model import Sample


class Program(drnn.Program):
    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[Any]:
        return [output for instance in minibatch for output in super(Program, self).run([instance], graph)]
