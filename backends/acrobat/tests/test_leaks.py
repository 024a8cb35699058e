"""After ten thousand failing calls, memory, reference counts and the number of Python objects are as before."""

from __future__ import annotations

import copy
import ctypes
import gc
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError, ResourceError
from backends.acrobat.tests.models import Cell
from backends.acrobat.tests.support import assert_same, eager

ROOM = 4 << 20
"""Bytes by which the process may grow for other reasons."""
SLACK = 32 << 10
PER_CALL = 16
"""Bytes of heap that may stay in use in all (`SLACK`) and for each call: less than the smallest object takes."""


class Sums(nn.Module):
    """Each round of its recursion reads rows of a table and a sum that may be empty; with a negative `count` it never ends."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 4)
        self.step = nn.Linear(4, 4)

    def forward(self, chain: Cell) -> Tensor:
        return self.walk(chain, self.table.weight[0])

    def walk(self, chain: Cell | None, x: Tensor) -> Tensor:
        if chain is None:
            return x
        x = torch.tanh(self.step(x)) + chain.value + reduce(torch.add, [self.table.weight[tag] for tag in chain.tags])
        return self.walk(chain, x) if chain.count < 0 else self.walk(chain.rest, x)


class Waits(nn.Module):
    """As `Sums`, but every item waits, so that calls are forked and nested when one of them fails."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 4)
        self.score = nn.Linear(4, 1)

    def forward(self, chain: Cell) -> Tensor:
        return self.walk(chain, self.table.weight[0]) + self.walk(chain, self.table.weight[1])

    def walk(self, chain: Cell | None, x: Tensor) -> Tensor:
        if chain is None:
            return x
        x = torch.tanh(x) + chain.value + reduce(torch.add, [self.item(tag, x) for tag in chain.tags])
        return self.walk(chain, x) if chain.count < 0 else self.walk(chain.rest, x)

    def item(self, tag: int, x: Tensor) -> Tensor:
        row = self.table.weight[tag]
        if self.score(x + row).item() > 1e30:
            return x
        return row


def chain(**changes: Any) -> Cell:
    """A chain of three cells; `changes` are fields of the innermost."""
    inner = replace(Cell(torch.ones(4), True, 0.5, 3, [1, 2], None), **changes)
    return Cell(torch.ones(4), True, 0.5, 3, [1], Cell(torch.ones(4), False, 1.0, 2, [3, 0, 1], inner))


def cyclic() -> Cell:
    first = chain()
    assert first.rest is not None
    object.__setattr__(first.rest, "rest", first)
    return first


MALFORMED: dict[str, tuple[list[Any], int]] = {  # malformed instances, and the number of calls, smaller for slow ones
    "class": ([object()], 1500),
    "inner class": ([chain(rest=torch.ones(4))], 1500),
    "none": ([chain(value=None)], 1500),
    "shape": ([chain(value=torch.ones(5))], 1500),
    "dtype": ([chain(value=torch.ones(4).double())], 1500),
    "row": ([chain(tags=[1, 7])], 1500),
    "empty sum": ([chain(tags=[])], 1500),
    "cycle": ([cyclic()], 250),
    # Calls that wait hold errors while the frames of later instances exhaust the memory.
    "row before memory": ([replace(chain(), tags=[1, 7, 1])] * 50 + [chain()] * 3000, 40),
    "recursion": ([chain(count=-1)], 40),
    "memory": ([chain(tags=[1] * 300_000)], 40),
}


class Heap(ctypes.Structure):
    """What glibc's `mallinfo2` gives; `uordblks` are the bytes in use."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    )


def heap() -> int:
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:  # another C library
        return 0
    mallinfo.restype = Heap
    info = mallinfo()
    return int(info.uordblks + info.hblkhd)


@pytest.fixture(scope="module", params=[Sums, Waits], ids=["plain", "waits"])
def small(request: Any, cache: Path) -> Any:
    """An executable with a small memory limit, good instances, and their right results."""
    torch.manual_seed(0)
    model = request.param()
    good = [chain(), chain(tags=[2])]
    return compile(model, cache_folder=cache, memory_limit=4 << 20), good, eager(copy.deepcopy(model).double(), good)


@pytest.mark.parametrize("kind", MALFORMED)
def test_failing_calls_leave_nothing(small: Any, kind: str) -> None:
    executable, good, want = small
    wrong, calls = MALFORMED[kind]
    batch = [good[0], *wrong, good[1]]

    def fail(times: int) -> None:
        for _ in range(times):
            try:
                executable(batch)
            except (InstanceError, ResourceError):
                continue
            raise AssertionError(f"{kind} did not fail")

    counted = [
        Cell,
        torch.Tensor,
        InstanceError,
        ResourceError,
        *good,
        wrong[0],
        batch,
        good[0].value,
        executable._first.results.allocate.__func__,
    ]
    fail(calls // 5)  # pools and caches fill
    gc.collect()
    objects, references, blocks = len(gc.get_objects()), [sys.getrefcount(o) for o in counted], sys.getallocatedblocks()
    resident, used = psutil.Process().memory_info().rss, heap()
    fail(calls)
    gc.collect()
    assert psutil.Process().memory_info().rss - resident < ROOM
    assert heap() - used < PER_CALL * calls + SLACK
    assert sys.getallocatedblocks() - blocks < 50
    assert [sys.getrefcount(o) for o in counted] == references
    assert len(gc.get_objects()) - objects < 20
    assert_same(executable(good), want)


def test_closed_executables_leave_nothing(cache: Path) -> None:
    model = Waits()

    def use(times: int) -> None:
        for _ in range(times):
            executable = compile(model, cache_folder=cache)
            executable([chain()])
            executable.close()

    use(2)
    gc.collect()
    before = sys.getrefcount(Cell)
    use(5)
    gc.collect()
    assert sys.getrefcount(Cell) == before
