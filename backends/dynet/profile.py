"""What DyNet's engine did: its own profiler counts and times batches, in extra passes, because that slows a run.

The profiler writes to standard output. A global variable of the library switches it on and off; the library's command-line
option sets the same variable at start-up.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from backends.dynet.engine import loaded_library

BATCH = re.compile(r"^BatchSize:(\d+) (.*)$", re.MULTILINE)
TOTAL = re.compile(r"^\s*(\S+)\s+\S+\s+\(total time\)$", re.MULTILINE)
ADDRESS = re.compile(r"\(.*\) @ 0x[0-9a-f]+$")

PRODUCT = "batches only over one shared left operand"
NEVER = "DyNet never batches it"
ALONE = "nothing else with its signature was ready"
WHY = (
    (re.compile(r"^(const_)?parameters|^lookup_parameters"), "one node per parameter"),
    (re.compile(r"^constant\(|^argmax|^moment_dim|^a / a$"), NEVER),
    (re.compile(r"^a \* a$"), PRODUCT),
    (re.compile(r"^a \+ a \* a"), f"{PRODUCT} and bias"),
    (re.compile(r"reshape|^pick\(|sum_elems|colwise_add|concat_batch|concatenate_to_batch|^1 - |layer_norm|mean|std"), NEVER),
)


@dataclass(frozen=True)
class Profile:
    """What DyNet ran for one mini-batch."""

    batches: int
    nodes: int
    unbatched: dict[str, str]  # operator -> how often it ran alone, and why
    executing_ms: float | None  # time in operators and in gathering their operands

    @property
    def mean_batch_width(self) -> float:
        return self.nodes / self.batches if self.batches else 0.0


class Profiler:
    """The profiler of the DyNet that this process has loaded."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(loaded_library("libdynet"))
        self.level = ctypes.c_int.in_dll(self.library, "_ZN5dynet14profiling_flagE")
        self.timer = ctypes.addressof(ctypes.c_char.in_dll(self.library, "_ZN5dynet5timerE"))
        self.show = self.library._ZN5dynet10NamedTimer4showEv
        self.show.argtypes = [ctypes.c_void_p]
        self.before_ms = 0.0

    @classmethod
    def find(cls) -> Profiler | None:
        """The profiler, or None if the library does not export its variables."""
        try:
            return cls()
        except (OSError, ValueError, AttributeError):
            return None

    def profile(self, run: Callable[[], object]) -> Profile:
        """Calls `run`, in which DyNet computes a mini-batch, and returns what its profiler prints of it, as numbers."""
        with _standard_output() as read:
            self.level.value = 2
            try:
                run()
            finally:
                self.level.value = 0
            self.show(self.timer)
            text = read()
        sizes = [(int(size), ADDRESS.sub("", operator)) for size, operator in BATCH.findall(text)]
        total = TOTAL.search(text)
        executing_ms = None
        if total is not None:  # the profiler's total is that of all passes so far
            executing_ms = float(total[1]) - self.before_ms
            self.before_ms = float(total[1])
        alone = Counter(operator for size, operator in sizes if size == 1)
        nodes = sum(size for size, _ in sizes)
        return Profile(len(sizes), nodes, {op: f"{n} alone: {_why(op)}" for op, n in alone.most_common()}, executing_ms)


def _why(operator: str) -> str:
    return next((why for pattern, why in WHY if pattern.search(operator)), ALONE)


@contextmanager
def _standard_output() -> Iterator[Callable[[], str]]:
    """Redirects standard output, C++'s too, to a file; the context's value is a function that reads what was written."""
    c = ctypes.CDLL(None)
    sys.stdout.flush()
    c.fflush(None)
    with tempfile.TemporaryFile() as file:
        original = os.dup(1)
        os.dup2(file.fileno(), 1)

        def read() -> str:
            c.fflush(None)
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield read
        finally:
            c.fflush(None)
            os.dup2(original, 1)
            os.close(original)
