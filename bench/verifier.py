"""Compares the outputs that a cell's process hands over with the oracle's answers, in the parent, where no backend runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench import judge
from bench.answers import Answer
from bench.clock import Fetch
from bench.handover import Described, Reader
from bench.isolate import Ended
from bench.outputs import Wrong
from bench.status import Status
from bench.verify import FEWER_BITS, Difference, Expected


class Verifier:
    """Verifies the outputs of one cell. `precision`: that of its products as asked for; `seen`: the largest differences."""

    def __init__(self, reader: Reader, precision: str = "fp32") -> None:
        self.reader = reader
        self.precision = precision
        self.expected: dict[int, Expected] = {}
        self.seen = Difference()
        self.allowances_ns: dict[int, float] = {}  # by mini-batch, what a fetch may cost (bench/judge.py)

    def expect(self, minibatch: int, answers: Sequence[Answer]) -> None:
        """Set the answers that outputs of `minibatch` are compared with: the oracle's, one for each instance."""
        self.expected[minibatch] = self._expected(answers)
        self.allowances_ns[minibatch] = judge.allowance_ns([answer.output for answer in answers])

    def _expected(self, answers: Sequence[Answer]) -> Expected:
        """The answers to compare with. Raises `Ended` (unverified) where they cannot be right: that is the workload's fault."""
        try:
            return Expected(answers, self.precision)
        except Wrong as error:
            raise Ended(Status.UNVERIFIED, f"no oracle: {error}", again=True) from error

    @property
    def fetch_s(self) -> float:
        """The seconds that fetching the outputs of a mini-batch may cost, apart from a share of the run."""
        return median(self.allowances_ns.values()) / 1e9

    def check(self, handed: Sequence[Described], when: str) -> int:
        """Verify outputs, free the shared memory, and return the number of instances. Raises `Ended` where one is wrong."""
        instances = 0
        done: set[str] = set()
        try:
            for described in handed:
                key = json.dumps(described)
                if key not in done:  # equal descriptions refer to the same numbers in memory
                    done.add(key)
                    self._check(described, when)
                instances += self.expected[int(described["minibatch"])].n
        finally:
            self.reader.empty()
        return instances

    def check_unseen(self, handed: Sequence[Described], answers: Sequence[tuple[int, Answer]]) -> int:
        """Verify those outputs for which there are `answers`, each with its number among the instances that the cell had never
        seen; returns how many there are. Raises `Ended` if one is wrong."""
        try:
            for number, answer in answers:
                if number >= len(handed):
                    raise Ended(Status.FAILED, f"{len(handed)} outputs for over {number} instances")
                described = handed[number]
                expected = self._expected([answer])
                self.seen = expected.check(self.reader.read(described, expected), self.seen)
        except Wrong as error:
            raise Ended(Status.WRONG, f"an instance that it had never seen: {error}") from error
        finally:
            self.reader.empty()
        return len(answers)

    def judge_precision(self, claimed: str) -> list[str]:
        """A flag if the cell was asked to multiply in less than float32, or if its errors show that it did so and the backend
        names that precision itself (`claimed`). Raises `Ended` if the errors show it and `claimed` is empty."""
        if self.precision != "fp32":
            if not any(expected.floats.size for expected in self.expected.values()):
                return [f"products in {self.precision}: outputs are indices, which tell nothing of rounding"]
            known = f", {self.seen.times_float32:.0f} times eager float32's" if self.seen.times_float32 else ""
            return [f"products in {self.precision}: outputs are off by {self.seen.relative:.1e} of the largest at most{known}"]
        if self.seen.times_float32 <= FEWER_BITS:
            return []
        finding = f"outputs are {self.seen.times_float32:.0f} times as far from the right ones as eager float32's"
        if claimed:
            return [f"{finding}: computed in {claimed}"]
        raise Ended(Status.WRONG, f"{finding}: they were not computed in float32")

    def judge_fetches(self, fetches: Sequence[Sequence[Any]]) -> None:
        """Raises `Ended` where work was done in fetching the outputs. `fetches`: the fields of one `clock.Fetch` each."""
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
