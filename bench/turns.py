"""What a turn of a cell consists of, and when the rounds of a group end.

In every round each cell of the group has one turn. A turn begins after the pause in which the other cells had the machine: the
cell's mini-batches are run once (the resumed pass) and then several times back to back (the steady passes).

A pass over all mini-batches takes a millisecond with one system and five seconds with another. If every cell ran all of them in
every round, the slowest cell would take most of the session, and all would have few rounds and wide intervals. So a slow cell
runs only some of its mini-batches in a turn, and others in the next round: after as many rounds as there are mini-batches, all
have had equally many runs. Two cells are compared over the rounds and mini-batches that both ran.
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

# In a longer run the cold caches after the pause make no difference, so that one pass counts as resumed and as steady.
SINGLE_PASS_S = 0.2
# A pass may take so long: a slower cell runs only some of its mini-batches in it, but at least `FEWEST_RUNS`: with
# fewer, the fewest rounds would run each mini-batch once, and nothing would show how much its runs differ.
PASS_S, FEWEST_RUNS = 0.25, 2
# The least time between two turns of a cell. The turns of the other cells usually take longer.
PAUSE_S = 0.05
# The intervals are first looked at after so many rounds: fewer tell too little about how much rounds resemble each other.
FIRST_LOOK = 10
# They are looked at again after so many times the rounds of the last look.
LOOK_AGAIN = 1.5
# The most steady passes of a turn, for models that do almost nothing.
MOST_PASSES = 500


@dataclass(frozen=True)
class Turn:
    """Numbers for one turn. `runs`: mini-batches in a steady pass. `first`: mini-batches in the resumed pass. `steady`: steady
    passes; if there are none, the resumed pass counts as steady. `timed`: how many of them, the last ones, are timed."""

    runs: int
    first: int
    steady: int
    timed: int


def plan(run_s: float, minibatches: int, measure: Measure) -> Turn:
    """The turn of a cell that has so many mini-batches and needs about `run_s` seconds for each."""
    run_s = max(run_s, 1e-9)
    runs = min(minibatches, max(FEWEST_RUNS, math.ceil(PASS_S / run_s)))
    if run_s > SINGLE_PASS_S:
        return Turn(runs, runs, 0, 0)
    pass_s = runs * run_s
    steady = min(MOST_PASSES, max(1, math.ceil(measure.turn_s / pass_s)))
    first = 1 if pass_s > measure.turn_s else runs  # for a slow cell a single run is enough to fill the caches
    return Turn(runs, first, steady, min(steady, measure.timed_passes))


def order(seed: int, number: int, minibatches: int) -> list[int]:
    """The order of the mini-batches in round `number`, which is the same for all cells of a group. A cell that has fewer
    mini-batches skips the others; a cell that does not run all of them stops early. In each cycle of `minibatches` rounds one
    random order is rotated by every distance, in random sequence, so that each mini-batch has each place equally often."""
    cycle, step = divmod(number, minibatches)
    draw = random.Random(f"{seed}/{cycle}")
    shuffled = draw.sample(range(minibatches), minibatches)
    start = draw.sample(range(minibatches), minibatches)[step]
    return shuffled[start:] + shuffled[:start]


def keep(row: Record, number: int, ran: Sequence[int], first: int, reply: dict[str, Any]) -> None:
    """Add the samples of round `number` to a row: those of the resumed pass over the first `first` of the mini-batches `ran`,
    and those of the steady passes over all of them. Raises ValueError if the reply is not that of a whole turn."""
    seconds, passes = [round(each, 9) for each in reply["samples_s"]], reply["sample_pass"]
    if len(seconds) < first or (len(seconds) - first) % len(ran) or len(passes) != len(seconds):
        raise ValueError(f"a turn over {len(ran)} mini-batches gave {len(seconds)} samples and {len(passes)} numbers of passes")
    if not all(each > 0 for each in seconds):
        raise ValueError("a sample is not a positive number of nanoseconds")
    row["samples_s"] += seconds
    row["sample_minibatch"] += [*ran[:first], *(ran[i % len(ran)] for i in range(len(seconds) - first))]
    row["sample_round"] += [number] * len(seconds)
    row["sample_pass"] += passes


@dataclass
class StopRule:
    """Decides when the rounds of a group end, for all its cells at once. `cells`: how many there were at the beginning."""

    measure: Measure
    cells: int
    summaries: dict[str, stats.Summary] = field(default_factory=dict)  # by cell id, as of the last call of `look`
    _narrow: bool = False  # whether every interval was narrow enough when they were last looked at
    _next_look: int = FIRST_LOOK

    def look(self, cells: Mapping[str, stats.Rounds], rounds: int, spent_s: float, late: bool) -> str | None:
        """The reason to end after `rounds` rounds, or None. "interval": every cell's interval was narrow enough at two looks in
        a row, because once may be luck; for the same reason there are few looks. "rounds": `max_rounds` is reached. "budget":
        the group's time is spent. "limit": the campaign's time is spent (`late`). There is none before `min_rounds`. `cells`:
        the samples of the cells that still take part, by id."""
        self.summaries = {cell_id: stats.summary(each) for cell_id, each in cells.items()}
        before = False
        if rounds >= self._next_look or rounds >= self.measure.max_rounds:
            self._next_look = math.ceil(rounds * LOOK_AGAIN)
            before, self._narrow = self._narrow, all(self._is_narrow(summary) for summary in self.summaries.values())
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
        """The share of the measuring that is done, from 0 to 1, for the progress bar."""
        widest = max((summary.relative_half_width for summary in self.summaries.values()), default=float("inf"))
        narrow = (self.measure.relative_ci / widest) ** 2 if widest > 0 else 1.0  # a width falls with the root of the rounds
        spent = spent_s / (self.measure.budget_s * self.cells)
        return min(1.0, max(narrow, rounds / self.measure.max_rounds, spent))

    def _is_narrow(self, summary: stats.Summary) -> bool:
        return summary.relative_half_width <= self.measure.relative_ci
