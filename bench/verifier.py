"""Compares what a cell's process hands over with the oracle's answers, in a process in which no backend runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench import judge
from bench.clock import Fetch
from bench.handover import Described, Reader
from bench.isolate import Ended
from bench.status import Status
from bench.verify import Difference, Expected, Wrong


class Verifier:
    """Of one cell. `seen` is the largest difference so far."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.expected: dict[int, Expected] = {}
        self.seen = Difference()
        self.allowances_ns: dict[int, float] = {}  # of a fetch, by mini-batch: judge.py

    def expect(self, minibatch: int, answers: Sequence[tuple[Any, Any]]) -> None:
        """`answers`: the oracle's output and scores (or None) of each instance of a mini-batch."""
        self.expected[minibatch] = Expected(answers)
        self.allowances_ns[minibatch] = judge.allowance_ns([output for output, _ in answers])

    def check(self, handed: Sequence[Described], when: str) -> int:
        """The number of instances verified. Raises `Ended` where an output is wrong; the memory is given back."""
        instances = 0
        done: set[str] = set()
        try:
            for described in handed:
                key = json.dumps(described)
                if key not in done:  # else the very same numbers again
                    done.add(key)
                    self._check(described, when)
                instances += self.expected[int(described["minibatch"])].n
        finally:
            self.reader.empty()
        return instances

    def judge_fetches(self, fetches: Sequence[Sequence[Any]]) -> None:
        """Raises `Ended` where some of the work was done by bringing the outputs out."""
        why = judge.work_in_fetch([Fetch(*each) for each in fetches], self.allowances_ns)
        if why is not None:
            raise Ended(Status.WRONG, why)

    def _check(self, described: Mapping[str, Any], when: str) -> None:
        minibatch = int(described["minibatch"])
        expected = self.expected[minibatch]
        try:
            self.seen = expected.check(self.reader.read(described, expected), self.seen)
        except Wrong as error:
            raise Ended(Status.WRONG, f"mini-batch {minibatch}, {when}: {error}") from error
