"""Runs instances whose control flow waits for tensors side by side, so that DyNet can batch the work of all of them.

Reading a value evaluates what has been built by then. So each instance is a generator that yields the expression it waits
for; once all of them wait, everything built is evaluated together, and each generator is resumed with its value.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

import numpy as np

from backends.dynet.engine import Expression, Graph
from workloads import decisions

Task = Generator[Any, Any, None]
"""A generator that yields what it waits for: an expression, or whatever the `read` of `Interleaving.run` takes."""


class Interleaving:
    """Tasks that wait together. A task has no result: it writes what it computes into an object that its caller gave it."""

    def __init__(self) -> None:
        self.ready: list[tuple[Task, Any]] = []
        self.latest: Sequence[Expression] = ()
        """Expressions to evaluate at the next wait although they were built after the last one that a task waits for."""

    def start(self, task: Task) -> None:
        """Add a task. A running task may call this too; the new one then reaches its first wait with the others' next wait."""
        self.ready.append((task, None))

    def run(self, graph: Graph, read: Callable[[list[Any]], list[Any]] | None = None) -> None:
        """Run all tasks. `read`: from all that tasks wait for to what they are resumed with, by default expressions' values."""
        while self.ready:
            waiting: list[Task] = []
            wanted: list[Any] = []
            for task, value in self.ready:  # which grows as tasks start others
                try:
                    wanted.append(task.send(value))
                    waiting.append(task)
                except StopIteration:
                    pass
            values = read(wanted) if read else graph.values(wanted, self.latest)
            self.ready = list(zip(waiting, values, strict=True))


def decide(value: float, low: int, high: int, key: int, real: bool) -> int:
    """`workloads.decisions.decide` on a value that has been waited for."""
    return decisions.decide(cast(Any, np.float64(value)), low, high, key, real)


def stop(certainty: float, remaining: int, key: int, real: bool) -> bool:
    """`workloads.decisions.stop` on a value that has been waited for."""
    return decisions.stop(cast(Any, np.float64(certainty)), remaining, key, real)
