"""Mini-batches that a system has never seen, run after the timed ones: are they right, and do they take as long?

They are drawn from a seed that nobody could know before. A system that keeps answers, by an instance's identity or by its
content, takes longer the first time it sees one; a system whose answers were made before the clock ran, while compiling or
placing, takes longer every time; one that knows the answers only to what it was checked on is wrong: the oracle's answers to
some of the new instances, chosen after the runs, are compared with what the system gave.

Ratios are of medians over the mini-batches, by wall time or by processor time, whichever shows less: a busy machine lengthens
only one of them. They are taken twice: from what the cell's process tells of each run, and by the clock of the process that
asks, from request to reply, which nothing in the cell can change. By that clock it is also known how long new mini-batches
really take, each of which has to be worked on because its outputs are asked for; so a process that tells shorter times, in
whatever consistent way, is found where the difference is large enough to be seen beside what asking costs (`hidden`).

That is a flag. Where every new mini-batch took many times as long each time it was run, and mini-batches are large enough to
resemble each other, the samples are not those of the work: then the cell is wrong.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from bench.family import Used

LONGER = 4.0  # flag from here on: mini-batches differ in size, and new memory and cold caches cost too
OVERWHELMING = 20.0  # wrong from here on
LEAST_INSTANCES = 8  # of a mini-batch: smaller ones differ too much
SLOW_S = 0.2  # a run that takes longer: one new mini-batch and a single further pass over it
LONG_S = 0.05  # a run that takes longer: a single further pass
FEW = 3  # new mini-batches of a system that is not slow
WORK_S, MOST_INSTANCES = 0.1, 256  # more of them where they are short, until they take so long or are so many instances
COMPARED = 16  # new instances whose outputs are compared with the oracle's answers
ASKING_S = 0.01  # a request with its reply, of which the parent's clock knows nothing

Runs = Sequence[Sequence[int]]  # of each mini-batch the wall and the processor time, in nanoseconds


class Asked(Protocol):
    """What is needed of `isolate.Child`."""

    usage: Any

    def ask(self, do: str, **request: Any) -> dict[str, Any]: ...


@dataclass
class Pass:
    """Over some mini-batches. `told`: by the cell's process; `passed_s`: by the clock of the one that asked."""

    told: Runs
    passed_s: float

    @property
    def passed(self) -> float:
        """Nanoseconds for a mini-batch."""
        return 1e9 * self.passed_s / len(self.told)


@dataclass
class Looked:
    known: list[Pass] = field(default_factory=list)
    unseen: list[Pass] = field(default_factory=list)  # the first of them was the first time


def plan(run_s: float, batch_size: int, thorough: bool = True) -> tuple[int, int]:
    """How many mini-batches, and how many more passes over them, for a run of `run_s` seconds."""
    if run_s > SLOW_S:
        return 1, 1
    wanted = math.ceil(WORK_S / max(run_s, 1e-9))
    passes = 3 if thorough and run_s <= LONG_S else 1
    return max(FEW if thorough else 1, min(wanted, MOST_INSTANCES // batch_size)), passes


def seed() -> int:
    return 1000 + secrets.randbelow(2**31 - 1000)


def chosen(batch_size: int) -> list[int]:
    """The numbers of the new instances that are compared, half of them of the first mini-batch, which every system runs: nobody
    could know which."""
    draw = secrets.SystemRandom().sample
    first = draw(range(batch_size), min(batch_size, COMPARED // 2))
    others = range(batch_size, FEW * batch_size)
    return sorted([*first, *draw(others, min(len(others), COMPARED - len(first)))])


def look(child: Asked, minibatches: int, drawn: int, passes: int) -> Looked:
    """Pass after pass over the first `minibatches` that were timed, and then over those that it has just `drawn`, so many. The
    first pass over the known ones brings the system back to where it was, and does not count."""
    looked = Looked()
    for _ in range(passes + 1):
        looked.known.append(_pass(child, minibatches, unseen=False))
    for _ in range(passes + 1):
        looked.unseen.append(_pass(child, drawn, unseen=True))
    del looked.known[0]
    return looked


def _pass(child: Asked, minibatches: int, unseen: bool) -> Pass:
    before = child.usage.asked.get("replay", Used())
    reply = child.ask("replay", minibatches=minibatches, unseen=unseen)
    after = child.usage.asked["replay"]
    return Pass(reply["times"], min(after.wall_s - before.wall_s, after.cpu_s - before.cpu_s))


def judge(looked: Looked, told_s: float, allowed_s: float) -> tuple[dict[str, Any], list[str]]:
    """What the row keeps, and the flags. `told_s`: the steady latency of the timed mini-batches; `allowed_s`: what bringing out
    the outputs of one may cost."""
    first, *again = looked.unseen
    kept = {
        "n": len(first.told),
        "ratio_first": round(max(_ratio(looked.known, [first]), _passed(looked.known, [first])), 3),
        "ratio_again": round(max(_ratio(looked.known, again), _passed(looked.known, again)), 3),
        "ratio_hidden": round(hidden(looked, told_s, allowed_s), 3),
    }
    said = "mini-batches that it had never seen took {:.1f} times as long as the timed ones"
    flags = []
    if kept["ratio_again"] > LONGER:
        flags.append(said.format(kept["ratio_again"]))
    elif kept["ratio_first"] > LONGER:
        flags.append(said.format(kept["ratio_first"]) + ", the first time")
    if kept["ratio_hidden"] > LONGER:
        flags.append(said.format(kept["ratio_hidden"]) + ", by the clock of the process that asked for them")
    return kept, flags


def hidden(looked: Looked, told_s: float, allowed_s: float) -> float:
    """How many times as long the new mini-batches took, by the clock of the process that asked and in the fastest pass, as the
    samples tell. 0 where that is no longer than asking costs."""
    shortest = min(looked.unseen, key=lambda each: each.passed_s)
    count = len(shortest.told)
    return max(0.0, shortest.passed_s - ASKING_S - count * allowed_s) / (count * told_s)


def overwhelming(looked: Looked, batch_size: int, told_s: float, allowed_s: float) -> str | None:
    """Why the samples are not those of the work, where that is beyond doubt: no run of a new mini-batch, the first time or
    later, came near the slowest mini-batch of those before, by wall time and by processor time; or by the clock of the process
    that asks none of the passes over them was as short as the samples tell. What is slow only the first time may be compiling
    for shapes that it meets for the first time: that stays a flag."""
    ratio = hidden(looked, told_s, allowed_s)
    if ratio > OVERWHELMING:
        return f"mini-batches that it had never seen took at least {ratio:.0f} times as long as its samples tell, every time"
    if batch_size < LEAST_INSTANCES:
        return None
    times = []
    for which in (0, 1):
        known = max(median(each[which] for each in runs) for runs in zip(*(each.told for each in looked.known), strict=True))
        times.append(min(run[which] for each in looked.unseen for run in each.told) / max(known, 1.0))
    if min(times) <= OVERWHELMING:
        return None
    return f"mini-batches that it had never seen took at least {min(times):.0f} times as long as the timed ones, every time"


def _ratio(known: Sequence[Pass], unseen: Sequence[Pass]) -> float:
    return min(_typical(unseen, which) / max(_typical(known, which), 1.0) for which in (0, 1))


def _typical(passes: Sequence[Pass], which: int) -> float:
    return float(median(median(run[which] for run in runs) for runs in zip(*(each.told for each in passes), strict=True)))


def _passed(known: Sequence[Pass], unseen: Sequence[Pass]) -> float:
    return median(each.passed for each in unseen) / max(median(each.passed for each in known), 1.0)
