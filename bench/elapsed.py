"""Does the clock that a cell's runs are timed by tell the time? Asked by the process that started the cell's, of clocks that
nothing in the cell can change.

The cell's process is asked for runs and nothing else, and answers with the sum of what they took by its clock. What has passed
is the time between request and answer, or the processor time that the kernel counted for the cell meanwhile if that is less:
where others have the machine, a process waits before its runs, between them and after them, and has no processor time then.
"""

from __future__ import annotations

from typing import Any

from bench.family import Used
from bench.isolate import Child, Ended
from bench.status import Status

TOLD_S, PASSED_S = 0.15, 1.0  # runs that last so long by the cell's clock, or so long by ours, are enough to compare
ALLOWED_S = 0.05  # for the request and the answer
ALLOWED_RUN_S = 20e-6  # for what is around a run: a list made, outputs given back
SHARE = 0.5  # of what has passed, the least that an honest clock tells
ATTEMPTS = 3
GROWTH = 16  # times as many runs in a next request, at most
MOST_RUNS = 100_000


def check(child: Child, minibatches: int) -> dict[str, Any]:
    """What the row keeps: how many runs, the seconds that they took as the cell tells it, and those that have passed. Raises
    `Ended` where that is less than half in three attempts of three."""
    runs = 1
    told_s, passed_s = _ask(child, runs, minibatches)
    while told_s < TOLD_S and passed_s < PASSED_S and runs < MOST_RUNS:
        wanted = GROWTH if told_s <= 0 else min(GROWTH, 1.2 * TOLD_S / told_s)
        runs = min(MOST_RUNS, max(runs + 1, int(runs * wanted)))
        told_s, passed_s = _ask(child, runs, minibatches)
    attempts = 1
    while told_s < SHARE * (passed_s - ALLOWED_S - ALLOWED_RUN_S * runs):
        if attempts == ATTEMPTS:
            raise Ended(Status.WRONG, f"its clock told {told_s:.3g} s where {passed_s:.3g} s passed")
        told_s, passed_s = _ask(child, runs, minibatches)
        attempts += 1
    return {"runs": runs, "told_s": round(told_s, 6), "passed_s": round(passed_s, 6)}


def _ask(child: Child, runs: int, minibatches: int) -> tuple[float, float]:
    """The seconds told and those that have passed."""
    before = child.usage.asked.get("elapsed", Used())
    told_s = child.ask("elapsed", runs=runs, minibatches=minibatches)["told_s"]
    after = child.usage.asked["elapsed"]
    return told_s, min(after.wall_s - before.wall_s, after.cpu_s - before.cpu_s)
