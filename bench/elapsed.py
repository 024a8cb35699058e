"""Checks in the parent process, by clocks that a cell cannot change, that the clock by which a cell times its runs is right.

The cell's process is asked for runs and replies with the sum of their times by its own clock, the seconds *told*. The seconds
*passed* are the time from request to reply, less what the operating system counted as waiting for a processor: on a busy
machine a process also waits before, between and after its runs (`family.Used`).

The same runs show whether samples are the times of runs: between these there is no fetching and no reading of counters, where a
system could work on the next mini-batch.

A process could tell less only of the runs of its turns, from which the samples are. So the seconds told and passed of all turns
are compared too. Between their runs outputs are fetched and counters read, so the difference is a flag, and no proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.family import Used
from bench.fresh import ASKING_S, SHOWING_S
from bench.isolate import Child, Ended
from bench.status import Status

TOLD_S, PASSED_S = 0.15, 1.0  # the runs are enough to compare once they last so long by the cell's clock or by the parent's
QUICK_TOLD_S = 0.06  # the same by the cell's clock, in a quick check
ALLOWED_S = 0.05  # for the request and the reply
ALLOWED_RUN_S = 20e-6  # for what surrounds each run: making the list, freeing the outputs
SHARE = 0.5  # the least part of the time passed that a correct clock tells
ATTEMPTS = 3
LONGER = 4.0  # a flag if these runs take so many times as long as the samples say
GROWTH = 16  # the next request asks for at most so many times as many runs
MOST_RUNS = 100_000


@dataclass
class Told:
    """The time that a cell reports of its turns: the seconds `told_s` of all their `runs`, of which so many were `shown`, which
    means that their outputs were handed over. `began_s`: the seconds that requests for turns had cost before the first of
    these."""

    began_s: float = 0.0
    number: int = 0
    runs: int = 0
    shown: int = 0
    told_s: float = 0.0

    def add(self, reply: Mapping[str, Any], runs: int) -> None:
        """Another turn of so many runs, with its reply."""
        self.number += 1
        self.runs += runs
        self.shown += len(reply["samples_s"])
        self.told_s += sum(reply["samples_s"]) + reply["settled_s"]

    def judge(self, cost_s: float, fetch_s: float) -> list[str]:
        """A flag if the turns took more than twice as long as the cell told, apart from the requests, from handing over outputs
        and from fetching these, for which `fetch_s` seconds are allowed in each run. `cost_s`: what all requests for turns have
        cost until now (`family.Used`)."""
        passed_s = cost_s - self.began_s
        allowed_s = ASKING_S * self.number + (ALLOWED_RUN_S + fetch_s) * self.runs + SHOWING_S * self.shown
        if self.told_s >= SHARE * (passed_s - allowed_s):
            return []
        return [f"its turns took {passed_s:.3g} s, of which it told {self.told_s:.3g} s"]


def check(child: Child, minibatches: int, thorough: bool = True) -> dict[str, Any]:
    """What the row keeps: the number of runs, the seconds told and the seconds passed. `thorough`: not a quick check. Raises
    `Ended` (wrong) where the cell tells less than `SHARE` of the time passed, allowances deducted, in each of `ATTEMPTS`
    attempts."""
    enough_s = TOLD_S if thorough else QUICK_TOLD_S
    runs = 1
    told_s, passed_s = _ask(child, runs, minibatches)
    while told_s < enough_s and passed_s < PASSED_S and runs < MOST_RUNS:
        wanted = GROWTH if told_s <= 0 else min(GROWTH, 1.2 * enough_s / told_s)
        runs = min(MOST_RUNS, max(runs + 1, int(runs * wanted)))
        told_s, passed_s = _ask(child, runs, minibatches)
    attempts = 1
    while told_s < SHARE * (passed_s - ALLOWED_S - ALLOWED_RUN_S * runs):
        if attempts == ATTEMPTS:
            raise Ended(Status.WRONG, f"its clock told {told_s:.3g} s where {passed_s:.3g} s passed")
        told_s, passed_s = _ask(child, runs, minibatches)
        attempts += 1
    return {"runs": runs, "told_s": round(told_s, 6), "passed_s": round(passed_s, 6)}


def judge(found: dict[str, Any], steady_s: float) -> list[str]:
    """A flag if the runs of `check` took much longer than those of the turns, `steady_s`, although nothing else was to do."""
    each_s = min(found["told_s"], found["passed_s"]) / found["runs"]
    if each_s <= LONGER * steady_s + ALLOWED_RUN_S:
        return []
    return [f"runs with nothing between them took {each_s / steady_s:.1f} times as long as its samples: it worked between them"]


def _ask(child: Child, runs: int, minibatches: int) -> tuple[float, float]:
    """Ask the cell for `runs` runs. Returns the seconds told and the seconds passed."""
    before = child.usage.asked.get("elapsed", Used())
    told_s = child.ask("elapsed", runs=runs, minibatches=minibatches)["told_s"]
    after = child.usage.asked["elapsed"]
    return told_s, after.cost_s - before.cost_s
