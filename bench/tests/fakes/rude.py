"""Backends that raise, crash or print what does harm where it is taken for something else."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.contract import Outputs, Unsupported
from bench.tests.fakes import Applied, Vector


class Raises(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("no such thing")


class Crashes(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        ctypes.string_at(0)
        return []


class Prints(Applied):
    """Prints text that would do harm if it were taken for a reply, through Python and directly to the descriptor."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        print('{"status": "failed", "why": "printed"}')
        os.write(1, b'{"samples_s": [0.0]}\n' * 1000)
        print("\x00 half a line", end="", file=sys.stderr)
        return super().run(minibatch)


class Floods(Applied):
    """Prints 32 MiB in each run."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.write(1, b"flooded\n" * (4 << 20))
        return super().run(minibatch)


class UnsupportedTimed(Applied):
    """Raises Unsupported only once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls > 6:
            raise Unsupported("not today")
        return super().run(minibatch)


class CannotAllocateName(Applied):
    """Raises an error that says "cannot allocate" but is not about memory."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("cannot allocate a name for this variable")


class Rude(Applied):
    """Raises an error whose text has colours, control characters, markup, an unpaired surrogate and ten million letters."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise ValueError("\n\n\x1b[31mred\x1b[0m [bold]\x07bell\udc80 " + "x" * 10_000_000)


class FloodsErrors(Applied):
    """Writes to standard error without end."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        while True:
            os.write(2, b"error\n" * (1 << 17))


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class RaisesMute(Applied):
    """Raises an error whose text cannot be made."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        raise Mute


class BoastsOfItself(Applied):
    """Says of itself what fills rows and terminals."""

    def facts(self) -> Mapping[str, Any]:
        return {"library": "\x1b[2J" + "x" * 10_000_000}

    def counters(self) -> Mapping[str, Any]:
        return {"batches": 3, "unbatched": {"\x1b[2Jsum": "y" * 1_000_000}, "else": list(range(100_000))}
