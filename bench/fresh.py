"""Runs mini-batches that a system has never seen after the timed ones: are their outputs right, and do they take as long?

They are drawn from a random seed that no backend can know. This detects three ways to cheat:
- Keeping answers, by the identity or content of an instance: a new mini-batch takes longer the first time.
- Computing answers outside the clock, while compiling or placing: a new mini-batch takes longer every time.
- Knowing only the answers that are checked: outputs for new instances, chosen after the runs, differ from the oracle's.

Times are compared as ratios of medians over mini-batches, by wall time or by processor time, whichever ratio is smaller: a busy
machine lengthens only one of them. Each ratio is taken twice: from the times that the cell's process tells, and by the parent's
clock from request to reply, which the cell cannot change. Outputs of new mini-batches are asked for, so the work on them has to
be done; a process that tells shorter times is found where the difference exceeds the cost of a request (`hidden`). A large
ratio is a flag, and makes the cell wrong where no other explanation is left (`overwhelming`).

The new mini-batches are drawn only when the timed ones have been run for the last time, and the clock of the parent also runs
while they are drawn, placed and shown: from the moment at which a cell can know of them, work on them has no place to hide.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple, Protocol

from bench import placing
from bench.family import Used

LONGER = 4.0  # a larger ratio is a flag; smaller ones occur because mini-batches differ, and new memory and cold caches cost
OVERWHELMING = 20.0  # a larger ratio makes the cell wrong
LEAST_INSTANCES = 8  # smaller mini-batches differ too much from each other
SLOW_S = 0.2  # with longer runs there is one new mini-batch with a single further pass, and one run of a timed one
LONG_S = 0.05  # with longer runs there is a single further pass; in a quick check they count as slow
FEW = 3  # the least number of new mini-batches for a system that is not slow
WORK_S, MOST_INSTANCES = 0.1, 256  # of short ones there are more, until they take so long or have so many instances together
COMPARED = 16  # new instances whose outputs are compared with the oracle's answers
ASKING_S = 0.01  # the cost of a request with its reply, which the parent's clock cannot tell from the runs
SHOWING_S = 5e-5  # the cost of handing over the outputs of one instance
DRAWING = 3.0  # making a new instance may take so many times as long as making one of the timed ones took

Runs = Sequence[Sequence[int]]  # for each mini-batch the wall and the processor time, in nanoseconds


class CellProcess(Protocol):
    """The part of `isolate.Child` that this module needs."""

    usage: Any

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Sends a request and returns the reply."""
        ...


@dataclass
class Pass:
    """One pass over some mini-batches: their `times` as the cell's process tells them, and the seconds that the pass took by
    the parent's clock."""

    times: Runs
    parent_s: float

    @property
    def parent_ns(self) -> float:
        """Nanoseconds for each mini-batch, by the parent's clock."""
        return 1e9 * self.parent_s / len(self.times)


@dataclass
class Passes:
    """The passes that were run, each over timed or over new mini-batches."""

    timed: list[Pass] = field(default_factory=list)  # over mini-batches that were timed before
    unseen: list[Pass] = field(default_factory=list)  # over new ones, which the system meets in the first of these passes
    draw_s: float = 0.0  # seconds by the parent's clock for making and placing the new ones
    placed: Mapping[str, Any] = field(default_factory=dict)  # what they consist of, as `placing.place` tells
    show_s: float = 0.0  # and for handing over the outputs of so many instances:
    shown: int = 0


class Plan(NamedTuple):
    """How many timed mini-batches (`timed`) and new ones (`drawn`) to run, and in how many passes: as many as `passes` over the
    timed ones, after another one if they have to be warmed up again (`warm`), and one more over the new ones."""

    timed: int
    drawn: int
    passes: int
    warm: bool = True


def plan(run_s: float, batch_size: int, minibatches: int, thorough: bool = True) -> Plan:
    """What to run for a system that needs `run_s` seconds for one of its `minibatches` timed mini-batches. Runs of a slow one
    are as long with cold caches as with warm ones."""
    if run_s > (SLOW_S if thorough else LONG_S):
        return Plan(1, 1, 1, warm=False)
    wanted = min(math.ceil(WORK_S / max(run_s, 1e-9)), MOST_INSTANCES // batch_size)
    if not thorough:
        return Plan(min(minibatches, FEW), max(1, wanted), 1)
    drawn = max(FEW, wanted)
    return Plan(min(minibatches, drawn), drawn, 3 if run_s <= LONG_S else 1)


def random_seed() -> int:
    """A seed for new instances that no backend can know, and that no configuration uses."""
    return 1000 + secrets.randbelow(2**31 - 1000)


def instances_to_compare(batch_size: int) -> list[int]:
    """The numbers of the new instances whose outputs are compared, drawn so that no backend can know them. Half are of the
    first new mini-batch, the only one that every system runs."""
    draw = secrets.SystemRandom().sample
    first = draw(range(batch_size), min(batch_size, COMPARED // 2))
    later = range(batch_size, FEW * batch_size)
    return sorted([*first, *draw(later, min(len(later), COMPARED - len(first)))])


def look(child: CellProcess, plan: Plan, batch_size: int, seed: int) -> tuple[Passes, list[Any]]:
    """Run the passes of `plan`, those over timed mini-batches first, then draw new ones from `seed` and run these. Returns also
    the descriptions of the outputs for all new instances: which of them will be compared, the cell does not know."""
    if plan.warm:
        _pass(child, plan.timed, unseen=False)
    passes = Passes([_pass(child, plan.timed, unseen=False) for _ in range(plan.passes)])
    passes.placed, passes.draw_s = _timed(child, "draw", seed=seed, count=plan.drawn)
    for _ in range(plan.passes + 1):
        passes.unseen.append(_pass(child, plan.drawn, unseen=True))
    passes.shown = plan.drawn * batch_size
    shown, passes.show_s = _timed(child, "show", instances=list(range(passes.shown)))
    return passes, shown["outputs"]


def _pass(child: CellProcess, minibatches: int, unseen: bool) -> Pass:
    reply, seconds = _timed(child, "replay", minibatches=minibatches, unseen=unseen)
    return Pass(reply["times"], seconds)


def _timed(child: CellProcess, do: str, **request: Any) -> tuple[dict[str, Any], float]:
    """The reply to a request, and what it cost by the parent's clock (`Used.cost_s`)."""
    before = child.usage.asked.get(do, Used())
    reply = child.ask(do, **request)
    return reply, child.usage.asked[do].cost_s - before.cost_s


def drawing_s(passes: Passes, one_s: float) -> float:
    """The seconds that making and placing the new mini-batches may take, where the process needed `one_s` seconds to make one
    before it had compiled anything."""
    return DRAWING * one_s * len(passes.unseen[0].times) + placing.allowed_s(passes.placed, first=False)


def judge(passes: Passes, told_s: float, allowed_s: float, drawing_s: float) -> tuple[dict[str, Any], list[str]]:
    """The ratios that the row keeps, and the flags. `told_s`: the steady latency of the timed mini-batches; `allowed_s`: the
    seconds that fetching the outputs of a mini-batch may cost; `drawing_s`: those that making the new mini-batches may."""
    first, *again = passes.unseen
    excess_s = max(0.0, passes.draw_s - ASKING_S - drawing_s)
    ratios = {
        "n": len(first.times),
        "ratio_first": round(max(_ratio(passes.timed, [first]), _parents_ratio(passes.timed, [first])), 3),
        "ratio_again": round(max(_ratio(passes.timed, again), _parents_ratio(passes.timed, again)), 3),
        "ratio_hidden": round(hidden(passes, told_s, allowed_s), 3),
        "ratio_drawn": round(excess_s / (len(first.times) * told_s), 3),
    }
    message = "mini-batches that it had never seen took {:.1f} times as long as the timed ones"
    flags = []
    if ratios["ratio_again"] > LONGER:
        flags.append(message.format(ratios["ratio_again"]))
    elif ratios["ratio_first"] > LONGER:
        flags.append(message.format(ratios["ratio_first"]) + ", the first time")
    if ratios["ratio_hidden"] > LONGER:
        flags.append(message.format(ratios["ratio_hidden"]) + ", by the clock of the process that asked for them")
    if ratios["ratio_drawn"] > LONGER:
        flags.append(
            f"while mini-batches that it had never seen were made and placed, {excess_s:.2g} s of other work were done, "
            f"{ratios['ratio_drawn']:.1f} times what its samples tell of running them"
        )
    return ratios, flags


def hidden(passes: Passes, told_s: float, allowed_s: float) -> float:
    """How many times the steady latency `told_s` a new mini-batch took by the parent's clock, in the fastest pass or while its
    outputs were handed over, less what the request and fetching the outputs may cost. 0 where nothing is left."""
    shortest = min(passes.unseen, key=lambda each: each.parent_s)
    count = len(shortest.times)
    worked_s = max(shortest.parent_s, passes.show_s - passes.shown * SHOWING_S)
    return max(0.0, worked_s - ASKING_S - count * allowed_s) / (count * told_s)


def overwhelming(passes: Passes, batch_size: int, told_s: float, allowed_s: float) -> str | None:
    """Why the samples cannot be the times of the work, or None unless that is beyond doubt, which it is in two cases: `hidden`
    is over `OVERWHELMING`; or every run of a new mini-batch, the first ones and the later ones, took over `OVERWHELMING` times
    as long as the slowest timed mini-batch, by wall time and by processor time. A system that is slow only the first time may
    be compiling for new shapes: that stays a flag."""
    ratio = hidden(passes, told_s, allowed_s)
    if ratio > OVERWHELMING:
        return f"mini-batches that it had never seen took at least {ratio:.0f} times as long as its samples tell, every time"
    if batch_size < LEAST_INSTANCES:
        return None
    times = []
    for clock in (0, 1):
        slowest = max(median(each[clock] for each in runs) for runs in zip(*(each.times for each in passes.timed), strict=True))
        times.append(min(run[clock] for each in passes.unseen for run in each.times) / max(slowest, 1.0))
    if min(times) <= OVERWHELMING:
        return None
    return f"mini-batches that it had never seen took at least {min(times):.0f} times as long as the timed ones, every time"


def _ratio(timed: Sequence[Pass], unseen: Sequence[Pass]) -> float:
    """How many times as long a new mini-batch took as a timed one, as the cell's process tells: by wall time or by processor
    time, whichever ratio is smaller."""
    return min(_typical(unseen, clock) / max(_typical(timed, clock), 1.0) for clock in (0, 1))


def _typical(passes: Sequence[Pass], clock: int) -> float:
    """The median time of a mini-batch by one of the clocks of `Runs`."""
    return float(median(median(run[clock] for run in runs) for runs in zip(*(each.times for each in passes), strict=True)))


def _parents_ratio(timed: Sequence[Pass], unseen: Sequence[Pass]) -> float:
    """The same by the parent's clock."""
    return median(each.parent_ns for each in unseen) / max(median(each.parent_ns for each in timed), 1.0)
