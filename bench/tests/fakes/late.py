"""Backends that do their work when the clock has stopped: in another thread, or when outputs are fetched or read."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.contract import Outputs
from bench.tests.fakes import Applied, Vector, burn


class LateThread(Applied):
    """Returns at once and writes the answers from another thread."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = [np.zeros_like(instance.x) for instance in minibatch]

        def work() -> None:
            time.sleep(0.02)
            for output, instance in zip(outputs, minibatch, strict=True):
                output[:] = self.apply(instance)

        threading.Thread(target=work).start()
        return outputs


class LateReused(LateThread):
    """Does the same, into buffers that still have the answers of the last run."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.buffers: list[np.ndarray] = []

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.buffers:
            self.buffers = [np.zeros_like(instance.x) for instance in minibatch]

        def work() -> None:
            time.sleep(0.02)
            for output, instance in zip(self.buffers, minibatch, strict=True):
                output[:] = self.apply(instance)

        threading.Thread(target=work).start()
        return self.buffers


class LateFetch(Applied):
    """Puts the work off until the first fetch of the outputs."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.done: list[np.ndarray] | None = None
        return list(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        if self.done is None:
            time.sleep(0.005)
            self.done = [self.apply(instance) for instance in outputs]
        return self.done


class LazyEveryTime(Applied):
    """Does the work in each fetch."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return list(minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        burn(0.002)
        return super().run(outputs)


class LazyAtTimes(LazyEveryTime):
    """Does the work in some runs where it belongs, and for the others in the fetch."""

    late = False

    def is_late(self, minibatch: Sequence[Vector]) -> bool:
        raise NotImplementedError

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.late = self.is_late(minibatch)
        if self.late:
            return list(minibatch)
        burn(0.002)
        return Applied.run(self, minibatch)

    def fetch(self, outputs: Outputs) -> list[Any]:
        return super().fetch(outputs) if self.late else list(outputs)


class LazyTwoOfThree(LazyAtTimes):
    """Is late in two of three runs."""

    calls = 0

    def is_late(self, minibatch: Sequence[Vector]) -> bool:
        self.calls += 1
        return self.calls % 3 != 0


class LazyForOne(LazyAtTimes):
    """Is late for the mini-batch that it runs first, always."""

    first = b""

    def is_late(self, minibatch: Sequence[Vector]) -> bool:
        content = b"".join(instance.x.tobytes() for instance in minibatch)
        self.first = self.first or content
        return content == self.first


class LazyAfterAPause(LazyAtTimes):
    """Is late where it has not run for a while, as in the first run of a turn."""

    ran_s = 0.0

    def is_late(self, minibatch: Sequence[Vector]) -> bool:
        before, self.ran_s = self.ran_s, time.monotonic()
        return self.ran_s - before > 0.03


class LazyLittle(LazyEveryTime):
    """Does all its work in the fetch, but so little that it is small beside the noise of a clock."""

    def fetch(self, outputs: Outputs) -> list[Any]:
        burn(0.00028)
        return Applied.run(self, outputs)


class Promise:
    """Looks like an array, and is computed when somebody reads it."""

    def __init__(self, model: Applied, instance: Vector) -> None:
        self.model = model
        self.instance = instance

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        burn(0.001)
        return self.model.apply(self.instance)


class ComputesOnAccess(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [Promise(self, instance) for instance in minibatch]


class WorksInCounters(Applied):
    """When it is asked for its counters, it computes the answers for the next runs, each of which is used once."""

    work_s = 0.004

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.met: dict[bytes, list[Vector]] = {}
        self.ready: dict[bytes, Outputs] = {}

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        key = b"".join(instance.x.tobytes() for instance in minibatch)
        self.met[key] = list(minibatch)
        return self.ready.pop(key) if key in self.ready else self.work(minibatch)

    def work(self, minibatch: Sequence[Vector]) -> Outputs:
        burn(self.work_s)
        return super().run(minibatch)

    def counters(self) -> Mapping[str, Any]:
        for key, minibatch in self.met.items():
            if key not in self.ready:
                self.ready[key] = self.work(minibatch)
        return super().counters()


class WorksInCountersLittle(WorksInCounters):
    work_s = 0.0002


class WorksBetweenTurns(WorksInCounters):
    """Does the same in another thread, all the time, so also while other cells have their turn."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        threading.Thread(target=self.prepare, daemon=True).start()

    def counters(self) -> Mapping[str, Any]:
        return Applied.counters(self)

    def prepare(self) -> None:
        while True:
            for key, minibatch in list(self.met.items()):
                self.ready[key] = self.work(minibatch)
            time.sleep(0.0001)
