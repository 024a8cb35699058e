"""Backends that replace code of the harness, of Python or of a library in their own process."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench import clock
from bench.contract import Outputs
from bench.outputs import flatten
from bench.tests.fakes import WORK_S, Applied, Vector, Works, burn
from bench.tests.fakes.remembering import RemembersContent


def slowed(now: Callable[[], int]) -> Callable[[], int]:
    start = now()
    return lambda: start + (now() - start) // 100


class PatchesClock(Works):
    """Replaces the clock, in `time` and in bench/clock.py, by one that runs 100 times slower."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        clock.perf_counter_ns = slowed(time.perf_counter_ns)  # type: ignore[attr-defined]
        time.perf_counter_ns = slowed(time.perf_counter_ns)


class PatchesDefaults(Works):
    """Replaces the clock in the default arguments of `clock.sample`."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        clock.sample.__defaults__ = (1, slowed(time.perf_counter_ns))


class PatchesSample(Works):
    """Replaces `clock.sample`, which reads the clock, by a function that tells a hundredth of the time."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        honest = clock.sample

        def sample(*arguments: Any) -> clock.Sample:
            found = honest(*arguments)
            found.run_ns //= 100
            return found

        clock.sample = sample  # type: ignore[assignment]


class PatchesSession(Works):
    """Replaces methods of the worker's session by some that tell a hundredth of the time in which it works."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        from bench.worker import Session

        turn, replay = Session.turn, Session.replay

        def shorter_turn(self: Any, order: list[int], first: int, steady: int, timed: int) -> dict[str, Any]:
            reply = turn(self, order, first, steady, timed)
            return {**reply, "samples_s": [WORK_S / 100 for _ in reply["samples_s"]], "settled_s": reply["settled_s"] / 100}

        def shorter_elapsed(self: Any, runs: int, minibatches: int) -> dict[str, Any]:
            return {"told_s": runs * WORK_S / 100}

        def shorter_replay(self: Any, minibatches: int, unseen: bool) -> dict[str, Any]:
            reply = replay(self, minibatches, unseen)
            return {"times": [[wall // 100, cpu // 100] for wall, cpu in reply["times"]]}

        Session.turn, Session.replay = shorter_turn, shorter_replay  # type: ignore[method-assign]
        Session.elapsed = shorter_elapsed  # type: ignore[method-assign]


class PatchesTurn(Applied):
    """Tells a third of the time in turns, from which the samples are, and the truth everywhere else. It sleeps in each run,
    which takes as long on a busy machine as on any other."""

    sleep_s = WORK_S

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        from bench.worker import Session

        turn = Session.turn

        def shorter(self: Any, order: list[int], first: int, steady: int, timed: int) -> dict[str, Any]:
            reply = turn(self, order, first, steady, timed)
            return {**reply, "samples_s": [each / 3 for each in reply["samples_s"]], "settled_s": reply["settled_s"] / 3}

        Session.turn = shorter  # type: ignore[method-assign]


class PatchesShow(PatchesSession):
    """Does nothing when it is asked to run new mini-batches, and computes outputs when these are asked for."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        from bench.worker import Session

        show = Session.show

        def nothing(self: Any, minibatches: int, unseen: bool) -> dict[str, Any]:
            return {"times": [[10_000, 10_000]] * minibatches}

        def shown(self: Any, instances: list[int]) -> dict[str, Any]:
            compiled = self.compiled
            self.given = [flatten([each]) for batch in self.unseen for each in compiled.fetch(compiled.run(batch))]
            return show(self, instances)

        Session.replay, Session.show = nothing, shown  # type: ignore[method-assign]


class WorksInGc(RemembersContent):
    """Computes the answers to all mini-batches that the worker has when garbage collection is switched off or run."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        gc.disable, gc.collect = self.working(gc.disable), self.working(gc.collect)

    def working(self, honest: Callable[..., Any]) -> Callable[..., Any]:
        def patched(*arguments: Any) -> Any:
            frame = sys._getframe(1)
            while frame is not None and not hasattr(frame.f_locals.get("self"), "minibatches"):
                frame = frame.f_back  # type: ignore[assignment]
            if frame is not None:
                session = frame.f_locals["self"]
                for minibatch in [*session.minibatches, *getattr(session, "unseen", [])]:
                    self.run(minibatch)
            return honest(*arguments)

        return patched


class PatchesNumpy(Applied):
    """Replaces the function with which the harness copies outputs by one that computes them first."""

    minibatch: Sequence[Vector] = ()

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        concatenate = np.concatenate

        def computing(arrays: Any, *rest: Any, **named: Any) -> np.ndarray:
            burn(WORK_S)
            return concatenate([self.apply(each) for each in self.minibatch], *rest, **named)

        np.concatenate = computing  # type: ignore[assignment]

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.minibatch = minibatch
        return [np.empty_like(instance.x) for instance in minibatch]


class ChangesLibraries(Applied):
    """Changes settings of libraries for its whole process: PyTorch's default type and small numbers, numpy's random numbers."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        import torch

        torch.set_default_dtype(torch.float64)
        torch.set_flush_denormal(True)
        torch.manual_seed(7)
        np.random.seed(7)
        np.seterr(all="ignore")


class HugePasses(Applied):
    """Replaces the numbers of passes in the reply to a turn by one that no integer of numpy holds."""

    key: str = "sample_pass"
    value: float = 10**30

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        from bench.worker import Session

        turn, key, value = Session.turn, self.key, self.value

        def absurd(self: Any, order: list[int], first: int, steady: int, timed: int) -> dict[str, Any]:
            reply = turn(self, order, first, steady, timed)
            return {**reply, key: [value for _ in reply[key]]}

        Session.turn = absurd  # type: ignore[method-assign]


class TinySamples(HugePasses):
    """Tells samples that are shorter than a nanosecond."""

    key = "samples_s"
    value = 1e-10
