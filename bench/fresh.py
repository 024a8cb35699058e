"""Mini-batches that a system has never seen, run after the timed ones: do they take as long?

A system that keeps answers, by an instance's identity or by its content, takes longer the first time it sees one; a system
whose answers were made before the clock ran, while compiling or placing, takes longer every time. Ratios are of medians
over the mini-batches, by wall time or by processor time, whichever shows less: a busy machine lengthens only one of them.

That is a flag. Where every new mini-batch took many times as long each time it was run, and mini-batches are large enough to
resemble each other, the samples are not those of the work: then the cell is wrong.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

LONGER = 4.0  # flag from here on: mini-batches differ in size, and new memory and cold caches cost too
OVERWHELMING = 20.0  # wrong from here on
LEAST_INSTANCES = 8  # of a mini-batch: smaller ones differ too much
SLOW_S = 1.0


def plan(run_s: float) -> tuple[int, int]:
    """How many mini-batches, and how many passes over them, for a run of `run_s` seconds."""
    return (1, 1) if run_s > SLOW_S else (3, 3)


def seed() -> int:
    return 1000 + secrets.randbelow(2**31 - 1000)


def judge(reply: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What the row keeps, and the flags."""
    first = _ratio(reply["known"], [reply["first"]])
    again = _ratio(reply["known"], reply["again"])
    kept = {"n": len(reply["first"]), "ratio_first": round(first, 3), "ratio_again": round(again, 3)}
    if again > LONGER:
        return kept, [f"mini-batches that it had never seen took {again:.1f} times as long as the timed ones"]
    if first > LONGER:
        return kept, [f"mini-batches that it had never seen took {first:.1f} times as long as the timed ones, the first time"]
    return kept, []


def overwhelming(reply: Mapping[str, Any], batch_size: int) -> str | None:
    """Why the samples are not those of the work, where that is beyond doubt: no run of a new mini-batch, the first time or
    later, came near the slowest mini-batch of those before, by wall time and by processor time. What is slow only the first
    time may be compiling for shapes that it meets for the first time: that stays a flag."""
    if batch_size < LEAST_INSTANCES:
        return None
    times = []
    for which in (0, 1):
        known = max(median(each[which] for each in repeated) for repeated in zip(*reply["known"], strict=True))
        times.append(min(run[which] for runs in (reply["first"], *reply["again"]) for run in runs) / max(known, 1.0))
    if min(times) <= OVERWHELMING:
        return None
    return f"mini-batches that it had never seen took at least {min(times):.0f} times as long as the timed ones, every time"


def _ratio(known: Sequence[Sequence[Sequence[int]]], fresh: Sequence[Sequence[Sequence[int]]]) -> float:
    """Each is [passes][mini-batches][wall, processor time]."""
    return min(_typical(fresh, which) / max(_typical(known, which), 1.0) for which in (0, 1))


def _typical(runs: Sequence[Sequence[Sequence[int]]], which: int) -> float:
    return float(median(median(each[which] for each in repeated) for repeated in zip(*runs, strict=True)))
