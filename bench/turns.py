"""What a turn of a cell consists of, and when the rounds of a group end.

In a round the cells of the group have one turn each. A turn begins after the pause in which the other cells had the machine:
the cell's mini-batches are run once (the resumed pass) and then several times back to back (the steady passes). A cell whose
pass is long needs no whole pass to warm up: its resumed pass is a single mini-batch.

Turns last between a fifth of a second and, for an unbatched baseline, ten seconds. Were all cells to take part in every round,
most of a session would go to the slowest, and the fast ones would have few rounds and wide intervals. So a cell with long
turns takes part in every third round only. All cells go on until the group ends, and two of them are compared over the rounds
in which both took part.
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
# A cell whose turn lasts longer takes part in every so many rounds only.
LONG_TURN_S, EVERY = 0.5, 3
# The least time for which a cell has not run when its turn begins. The turns of the others take longer than this, as a rule.
PAUSE_S = 0.05
# The round after which intervals are first looked at: fewer tell too little of how much rounds resemble each other.
FIRST_LOOK = 10
# The next look is taken after so many times the rounds of the last.
LOOK_AGAIN = 1.5
# So many steady passes at most, also of a model that does next to nothing.
MOST_PASSES = 500


def plan(pass_s: float, minibatches: int, measure: Measure) -> tuple[int, int]:
    """How many steady passes a turn has, and how many of them, the last ones, are timed. `pass_s`: seconds that a pass takes,
    as far as known. No steady pass at all: the resumed one counts as steady."""
    if pass_s / minibatches > SINGLE_PASS_S:
        return 0, 0
    steady = min(MOST_PASSES, max(1, math.ceil(measure.turn_s / max(pass_s, 1e-9))))
    return steady, min(steady, measure.timed_passes)


def resumed(pass_s: float, minibatches: int, measure: Measure) -> int:
    """How many mini-batches the resumed pass has: one where a whole pass of `pass_s` seconds would last longer than the steady
    passes have to, and all where there are few or where the resumed pass counts as steady."""
    return 1 if plan(pass_s, minibatches, measure)[0] and pass_s > measure.turn_s else minibatches


def takes_part(number: int, turn_s: float, all_s: Sequence[float], measure: Measure) -> bool:
    """Whether a cell has a turn in round `number`. `turn_s`: seconds that its first turn took, 0 before it; `all_s`: the same
    of all cells that go on. No cell is left out where all have long turns, or where so few rounds are allowed that a cell
    would not have `min_rounds` of them."""
    if turn_s <= LONG_TURN_S or min(all_s) > LONG_TURN_S or measure.max_rounds < EVERY * measure.min_rounds:
        return True
    return number % EVERY == 0


def order(seed: int, number: int, minibatches: int) -> list[int]:
    """The order of the mini-batches in round `number`: different every time, the same for all cells of a group. A cell that
    has fewer mini-batches leaves the others out."""
    shuffled = list(range(minibatches))
    random.Random(f"{seed}/{number}").shuffle(shuffled)
    return shuffled


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
        `budget`: the group's time is spent. `limit`: the campaign's is. Never before every cell has had `min_rounds`. `cells`:
        the rounds of those that go on, by id."""
        self.summaries = {cell_id: stats.summary(each) for cell_id, each in cells.items()}
        before = False
        if rounds >= self._next_look or rounds >= self.measure.max_rounds:
            self._next_look = math.ceil(rounds * LOOK_AGAIN)
            before, self._narrow = self._narrow, all(self._is_narrow(found) for found in self.summaries.values())
        if min(len(each.numbers) for each in cells.values()) < self.measure.min_rounds:
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
