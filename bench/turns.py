"""What a turn of a cell consists of, and when the rounds of a group end.

In every round each cell of the group has one turn. A turn begins after the pause in which the other cells had the machine: the
cell's mini-batches are run once (the resumed pass) and then several times back to back (the steady passes).

A pass over all mini-batches takes a millisecond with one system and five seconds with another. Were each to run all of them in
every round, the slowest would have most of the session, and all would have few rounds and wide intervals. So a slow cell runs
only some of its mini-batches in a turn, in the next round others: after as many rounds as there are mini-batches, each has
had equally many runs. Two cells are compared over the rounds and mini-batches that both ran.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import stats
from bench.config import Measure
from bench.store import Record

# A run longer than this heats its own caches: what the pause has cost it does not show, and one pass counts as both.
SINGLE_PASS_S = 0.2
# So long a pass of a turn may take; a cell that is slower runs some of its mini-batches only, but never fewer than these.
PASS_S, FEWEST_RUNS = 0.25, 2
# The least time for which a cell has not run when its turn begins. The turns of the others take longer than this, as a rule.
PAUSE_S = 0.05
# The round after which intervals are first looked at: fewer tell too little of how much rounds resemble each other.
FIRST_LOOK = 10
# The next look is taken after so many times the rounds of the last.
LOOK_AGAIN = 1.5
# So many steady passes at most, also of a model that does next to nothing.
MOST_PASSES = 500


@dataclass(frozen=True)
class Turn:
    """`runs`: the mini-batches of a steady pass. `first`: those of the resumed pass. `steady`: how many steady passes; where
    there is none the resumed pass counts as steady. `timed`: how many of the steady passes, the last ones, are timed."""

    runs: int
    first: int
    steady: int
    timed: int


def plan(run_s: float, minibatches: int, measure: Measure) -> Turn:
    """The turn of a cell that has so many mini-batches and needs about `run_s` seconds for one."""
    run_s = max(run_s, 1e-9)
    runs = min(minibatches, max(FEWEST_RUNS, math.ceil(PASS_S / run_s)))
    if run_s > SINGLE_PASS_S:
        return Turn(runs, runs, 0, 0)
    pass_s = runs * run_s
    steady = min(MOST_PASSES, max(1, math.ceil(measure.turn_s / pass_s)))
    first = 1 if pass_s > measure.turn_s else runs  # a single run of a slow cell is enough to fill the caches
    return Turn(runs, first, steady, min(steady, measure.timed_passes))


def order(seed: int, number: int, minibatches: int) -> list[int]:
    """The order of the mini-batches in round `number`: the same for all cells of a group. A cell that has fewer mini-batches
    leaves the others out, and one that does not run all of them stops early. So that each is at each place equally often, the
    rounds of a cycle as long as there are mini-batches begin one random order at every place of it, in random succession."""
    cycle, step = divmod(number, minibatches)
    draw = random.Random(f"{seed}/{cycle}")
    shuffled = draw.sample(range(minibatches), minibatches)
    start = draw.sample(range(minibatches), minibatches)[step]
    return shuffled[start:] + shuffled[:start]


def keep(row: Record, number: int, ran: Sequence[int], first: int, reply: dict[str, Any]) -> None:
    """Add the samples of round `number` to a row: of the resumed pass over the `first` of the mini-batches `ran`, and of the
    steady passes over all of them. Raises ValueError where the reply is not that of a whole turn."""
    seconds, passes = reply["samples_s"], reply["sample_pass"]
    if len(seconds) < first or (len(seconds) - first) % len(ran) or len(passes) != len(seconds):
        raise ValueError(f"a turn over {len(ran)} mini-batches gave {len(seconds)} samples and {len(passes)} numbers of passes")
    if not all(math.isfinite(each) and each > 0 for each in seconds):
        raise ValueError("a sample is not a positive number of seconds")
    row["samples_s"] += [round(each, 9) for each in seconds]
    row["sample_minibatch"] += [*ran[:first], *(ran[i % len(ran)] for i in range(len(seconds) - first))]
    row["sample_round"] += [number] * len(seconds)
    row["sample_pass"] += passes


@dataclass
class StopRule:
    """When the rounds of a group end, for all its cells at once. `cells`: how many began."""

    measure: Measure
    cells: int
    summaries: dict[str, stats.Summary] = field(default_factory=dict)  # by cell id, as of the last look
    _narrow: bool = False  # was every interval narrow enough at the last look?
    _next_look: int = FIRST_LOOK

    def look(self, cells: Mapping[str, stats.Rounds], rounds: int, spent_s: float, late: bool) -> str | None:
        """After round number `rounds`: the reason to end, if there is one. `interval`: every cell's interval was narrow enough
        at two looks in a row. One may be luck; for the same reason looks are few. `rounds`: the most that are allowed.
        `budget`: the group's time is spent. `limit`: the campaign's is. Never before `min_rounds`. `cells`: the rounds of
        those that still take part, by id."""
        self.summaries = {cell_id: stats.summary(each) for cell_id, each in cells.items()}
        before = False
        if rounds >= self._next_look or rounds >= self.measure.max_rounds:
            self._next_look = math.ceil(rounds * LOOK_AGAIN)
            before, self._narrow = self._narrow, all(self._is_narrow(found) for found in self.summaries.values())
        if rounds < self.measure.min_rounds:
            return None
        if before and self._narrow:
            return "interval"
        if rounds >= self.measure.max_rounds:
            return "rounds"
        if spent_s >= self.measure.budget_s * self.cells:
            return "budget"
        return "limit" if late else None

    def share_done(self, rounds: int, spent_s: float) -> float:
        """How near the end is, from 0 to 1."""
        widest = max((found.relative_half_width for found in self.summaries.values()), default=float("inf"))
        narrow = (self.measure.relative_ci / widest) ** 2 if widest > 0 else 1.0  # narrows with the root of the rounds
        spent = spent_s / (self.measure.budget_s * self.cells)
        return min(1.0, max(narrow, rounds / self.measure.max_rounds, spent))

    def _is_narrow(self, found: stats.Summary) -> bool:
        return found.relative_half_width <= self.measure.relative_ci
