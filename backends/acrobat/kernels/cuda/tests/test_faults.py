"""The emulation exists to find faults: each of these, planted into the text, has to show."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.tests.support import check, random_run
from backends.acrobat.kernels.cuda.build import HERE
from backends.acrobat.kernels.cuda.module import HEADERS
from backends.acrobat.kernels.cuda.schedule import CudaSchedule
from backends.acrobat.kernels.cuda.tests.support import ORDERS, Chain, Module, emitted_for, execute, residual

SEEDS = range(20, 28)
"""More random orders, for barriers: which of the blocks fall behind matters there."""
FEW, SHARED_FEW, MANY = CudaSchedule("few", 4, 8, 8), CudaSchedule("few", 8, 1, 16), CudaSchedule("many", 2, 1)

FAULTS = {
    "rows beyond the last are read": (
        FEW,
        "K::input(a, smaller(row0 + thread / kEach, total - 1))",
        "K::input(a, row0 + thread / kEach)",
    ),
    "copies are not waited for": (FEW, "        copies_wait<0>();\n        block_sync();\n", "        block_sync();\n"),
    "no barrier after the input's copies": (
        FEW,
        "        copies_wait<0>();\n        block_sync();\n",
        "        copies_wait<0>();\n",
    ),
    "no barrier between the steps of the ring": (MANY, "block_sync();  // all threads have read", "// all threads have read"),
}
MORE_FAULTS = {
    "places of rows beyond the last are read": (
        FEW,
        "auto at = K::places(a, smaller(row, total - 1));",
        "auto at = K::places(a, row);",
    ),
    "no barrier before the slices are summed": (SHARED_FEW, "        block_sync();\n#pragma unroll 1", "#pragma unroll 1"),
    "the first step is not waited for": (
        MANY,
        "copies_wait<T::kStages - 2>();  // for the first",
        "copies_wait<T::kStages - 1>();  // for the first",
    ),
    "the next step is not waited for": (
        MANY,
        "copies_wait<T::kStages - 2>();  // for the next",
        "copies_wait<T::kStages - 1>();  // for the next",
    ),
    "the next copies replace the stage that is read": (
        MANY,
        "if (k == 0) fetch_stage(s + T::kStages - 1);",
        "if (k == 0) fetch_stage(s + T::kStages);",
    ),
    "no barrier after the table of rows": (
        MANY,
        "    block_sync();\n    const float* const weights",
        "    const float* const weights",
    ),
    "no barrier between tiles": (FEW, "if (tile < tiles) block_sync();  // the next tile", "// the next tile"),
}
WALK_FAULTS = {
    "the input is read before the barrier": (FEW, "        else barrier.wait();\n", ""),
    "the epilogue's operands are read before the barrier": (
        FEW,
        "        else barrier.wait();\n",
        "        else { if (reads()) K::read(a, at, row, unit, operands); barrier.wait(); }\n",
    ),
    "a tile does not wait": (MANY, "    barrier.wait();\n    many_rows", "    many_rows"),
    "a block takes the count of barriers from a word that may be ahead": (
        FEW,
        "counter_now(own()) >>",
        "counter_now(words) >>",
    ),
    "a word that is a barrier ahead is waited for": (FEW, "- count) & 3u) < 2u", "- count) & 3u) == 0u"),
    "the first of a word's blocks does not count the others": (FEW, "(1u << kCountAt) - others : 1u", "(1u << kCountAt) : 1u"),
}
ALSO = {
    "the epilogue's operands are read before the barrier": [
        ("if (begin == 0 && reads()) K::read(a, at, row, unit, operands);", ""),  # else they are read again behind it
    ],
}
"""What more has to be replaced for a fault."""


def attempt(fault: str) -> None:
    """Runs a kernel with a fault (or "" for none) in all orders. Raises AssertionError if it shows in the results."""
    schedule, old, new = {**FAULTS, **MORE_FAULTS, **WALK_FAULTS}.get(fault, (FEW, "", ""))
    in_walk = fault in WALK_FAULTS or not fault
    kernel = residual(32)
    emitted = emitted_for(kernel, Mode.GATHERED, schedule)
    # The text of the headers replaces their includes, so that faults can be planted in them too.
    texts = [(f'#include "{name}"', (HERE / name).read_text().replace("#pragma once", "")) for name in HEADERS]
    once = [
        (f'#include "{name}"', "") for name in ("mma.cuh", "ring.cuh", "exact.cuh", "tensor.cuh", "device.cuh")
    ]  # the headers' own includes
    planted = [(old, new)] if old else []
    planted += ALSO.get(fault, [])
    built = Module([emitted], [*texts, *once, *planted])
    if in_walk:
        chain = Chain(kernel, "s", emitted)
        for blocks in (7, 10):  # with 10, two of a barrier's counters have two blocks
            for order in (*ORDERS, *SEEDS):
                chain.check(built, blocks, order)
    run = random_run(kernel, 13)
    run.weights = {n: w / np.float32(w.shape[-1] ** 0.5) for n, w in run.weights.items()}
    for order in ORDERS:
        check(run, execute(built, run, emitted, Mode.GATHERED, blocks=1, order=order), 5e-5)


def outcome(fault: str) -> str:
    """Whether `attempt` is right or wrong by its results, or has ended: its process is its own, as a fault may end it."""
    lines = [
        f"from {__name__} import attempt",
        "try:",
        f"    attempt({fault!r})",
        "    print('right')",
        "except AssertionError:",
        "    print('wrong')",
    ]
    script = "\n".join(lines)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if done.returncode < 0 or "emulated grid" in done.stderr:
        return "ended"
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("fault", [*FAULTS, *WALK_FAULTS])
def test_faults_show(fault: str) -> None:
    assert outcome(fault) in ("wrong", "ended")


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", MORE_FAULTS)
def test_more_faults_show(fault: str) -> None:
    assert outcome(fault) in ("wrong", "ended")


def test_without_a_fault_the_answer_is_right() -> None:
    assert outcome("") == "right"
