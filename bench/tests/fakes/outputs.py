"""Backends whose outputs, or inputs after a run, are not what they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.contract import Outputs
from bench.tests.fakes import Applied, Vector


class PreviousResult(Applied):
    kept: Outputs = None

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if self.kept is None:
            self.kept = super().run(minibatch)
        return self.kept


class HonestUntilTimed(Applied):
    """Does the work in the first runs, which are checked, and returns old outputs once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls <= 4:
            self.kept = super().run(minibatch)
        return self.kept


class OverwritesInput(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        for instance in minibatch:
            instance.x[0] = 1e-6
        return outputs


class OverwritesInputUnseen(Applied):
    """Changes inputs in a way that its outputs do not depend on."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        minibatch[0].__dict__["times"] = minibatch[0].times + 0.0
        return outputs

    def apply(self, instance: Vector) -> np.ndarray:
        return super().apply(Vector(instance.x, int(instance.times)))


class Unwritten(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [np.empty_like(instance.x) for instance in minibatch]


class NotANumber(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        outputs[-1][-1] = np.nan
        return outputs


class Slightly(Applied):
    """Gives one element of one instance that is wrong by one part in a hundred."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs = super().run(minibatch)
        outputs[-1][np.argmax(np.abs(outputs[-1]))] *= 1.01
        return outputs


class TooFew(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return super().run(minibatch)[:-1]


class Float16Outputs(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.float16) for output in super().run(minibatch)]


class RoundedToFloat16(Applied):
    """Gives float32 arrays whose numbers are rounded to float16."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.float16).astype(np.float32) for output in super().run(minibatch)]


class InFewerBits(Applied):
    """Cuts operands to 16 bits of significand; the last step is in float32, so that the outputs do not look rounded."""

    dropped = 0xFF  # the bits of a float32 that are set to zero

    def apply(self, instance: Vector) -> np.ndarray:
        x = instance.x
        for _ in range(instance.times):
            x = np.tanh(self.cut(self.weight) @ self.cut(x))
        return x

    def cut(self, values: np.ndarray) -> np.ndarray:
        return (values.view(np.uint32) & ~np.uint32(self.dropped)).view(np.float32)


class InBfloat16(InFewerBits):
    dropped = 0xFFFF


class InFloat16(InFewerBits):
    def cut(self, values: np.ndarray) -> np.ndarray:
        return values.astype(np.float16).astype(np.float32)


class InFewerBitsAsSaid(InFewerBits):
    dropped = 0x7F  # with a bit less, an instance drawn at random is now and then beyond the tolerance

    def facts(self) -> Mapping[str, Any]:
        return {"precision": "17 bits"}


class Swapped(Applied):
    """Gives the right outputs in the wrong order."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        first, second, *rest = super().run(minibatch)
        return [second, first, *rest]


class Integers(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.int64) for output in super().run(minibatch)]


class Complex(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [output.astype(np.complex64) for output in super().run(minibatch)]


class Texts(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return [str(output) for output in super().run(minibatch)]


class NestsEndlessly(Applied):
    """Gives a list that contains itself."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        outputs: list[Any] = super().run(minibatch)
        outputs.append(outputs)
        return outputs


class GarbageInTheSeventhRun(Applied):
    """Is wrong in each seventh run."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        outputs = super().run(minibatch)
        return [output + 1 for output in outputs] if self.calls % 7 == 0 else outputs


class ChangesAndRestoresInput(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        before = [instance.x.copy() for instance in minibatch]
        outputs = super().run(minibatch)
        for instance in minibatch:
            instance.x[:] = 0
        for instance, x in zip(minibatch, before, strict=True):
            instance.x[:] = x
        return outputs


class RaisesWhenFreed(Applied):
    """Its first outputs raise an error when they are freed, which Python prints and ignores. Printing takes longer than a run,
    so not all do: that would be work outside of the clock."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        return Unfreeable(super().run(minibatch))


class Unfreeable(list[Any]):
    left = 20

    def __del__(self) -> None:
        if Unfreeable.left:
            Unfreeable.left -= 1
            raise RuntimeError("not before I am ready")
