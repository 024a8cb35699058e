"""Backends that break assumptions of the harness, by what they write to its pipe, count, raise or leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.contract import Outputs, Target, Unsupported, Workload
from bench.tests.fakes import Applied, Honest, Toy, Vector


class Faulty(Honest):
    """A backend whose compiled model is of the class of this module that `how` names."""

    name = "faulty"

    def __init__(self, target: Target, how: str = "Garbage") -> None:
        super().__init__(target)
        self.how = how

    def compile(self, workload: Workload, size: str, seed: int, batch_size: int) -> Any:
        return globals()[self.how](workload.params(size, seed)["layer.weight"])


class Writes(Applied):
    """Writes `text` to the pipe on which the worker writes its replies."""

    text = b"garbage\n"

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        pipe = int(sys.argv[4])
        for start in range(0, len(self.text), 1 << 16):
            os.write(pipe, self.text[start : start + (1 << 16)])
        return super().run(minibatch)


class Garbage(Writes):
    pass


class Binary(Writes):
    text = b"\xff\xfe\x00\n"


class FullDisk(Applied):
    """Finds its disk full. The first line of the error, which becomes the reason, does not say so."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise RuntimeError("the compiler failed:\ncc: fatal error: error writing to /tmp/a.s: No space left on device")


class RealTimeSignal(Applied):
    """Dies of a signal that Python has no name for."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.kill(os.getpid(), 40)
        return super().run(minibatch)


class RemovesLog(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.remove(os.readlink("/proc/self/fd/1"))
        os.kill(os.getpid(), signal.SIGSEGV)
        return super().run(minibatch)


class Forged(Writes):
    """Writes a well-formed reply before the true one, which is then one too many."""

    text = (
        b'{"draw_s": 0.0, "compile_s": 0.0, "place_s": 0.0, "first_s": 0.0, "tensors": 0, "numbers": 0, "place_busy_s": 0.0, '
        b'"copy_s": 0.0, "identity": null}\n'
    )


class UnknownStatus(Writes):
    text = b'{"status": "splendid", "why": "because"}\n'


class NotAnObject(Writes):
    text = b"[1, 2]\n"


class MissingKeys(Writes):
    text = b'{"load_s": 0.1}\n'


class WrongTypes(Writes):
    text = b'{"load_s": 0.1, "compile_s": "soon", "place_s": 0.0, "first_s": 0.1}\n'


class NaNTime(Writes):
    text = b'{"load_s": 0.1, "compile_s": NaN, "place_s": 0.0, "first_s": 0.1}\n'


class Endless(Writes):
    text = b"x" * (65 << 20)


class OddCounters(Applied):
    def counters(self) -> Mapping[str, Any]:
        return {"kernel_ms": float("nan"), "copy_ms": "long", "batches": float("inf"), "launches": 3, "which": object()}


class OddMapping(Applied):
    def counters(self) -> Mapping[str, Any]:
        return {"unbatched": 3}


class TensorCounters(Applied):
    """Gives numbers as arrays and tensors."""

    def counters(self) -> Mapping[str, Any]:
        import torch

        return {"batches": np.float32(3), "launches": np.array(3), "nodes": torch.tensor(3)}


class CountersRaise(Applied):
    def counters(self) -> Mapping[str, Any]:
        raise RuntimeError("lost count")


class NoCounters(Applied):
    def counters(self) -> Any:
        return None


class ForkSurvives(Applied):
    """Ends, while a process that it has started stays and holds the pipe open."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        pipe = int(sys.argv[4])
        os.set_inheritable(pipe, True)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(pipe,))
        os._exit(7)


class CloseRaises(Applied):
    def close(self) -> None:
        raise RuntimeError("cannot let go")


class CloseCrashes(Applied):
    def close(self) -> None:
        os.abort()


class UnsupportedLate(Applied):
    """Raises Unsupported only once samples are taken."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls > 4:
            raise Unsupported("trees after all")
        return super().run(minibatch)


class AllocatesNames(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("cannot allocate a name")


class Slow(Applied):
    """Takes half a second for each run, which the tests' deadlines do not allow."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        time.sleep(0.5)
        return super().run(minibatch)


class NaNWeights(Toy):
    """A toy workload whose weights are not finite, so that no answer is."""

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        return {name: np.full_like(values, np.nan) for name, values in super().params(size, seed).items()}


class NoAnswers(Toy):
    """A toy workload whose model cannot be made, so that the oracle fails; the backends do not need the model."""

    def model(self, size: str) -> Any:
        raise RuntimeError("this model cannot be evaluated")


class OddVariants(Honest):
    """A backend that cannot tell its variants."""

    name = "odd"

    def __init__(self, target: Target, how: str = "raises") -> None:
        super().__init__(target)
        self.how = how
        if how == "cannot be made":
            raise KeyError("a part of me")

    def variants(self) -> Any:
        odd: dict[str, Any] = {"none": [], "no list": None, "unknown": [{"colour": 3}], "no options": [3]}
        if self.how not in odd:
            raise RuntimeError("which one?")
        return odd[self.how]
