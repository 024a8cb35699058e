"""The last checks of a cell, when it has all its samples: what its process says it did, and mini-batches that are new to it."""

from __future__ import annotations

import threading

from bench import elapsed, fresh, stats
from bench.config import Measure
from bench.isolate import Ended
from bench.monitor import left_behind, own_load
from bench.oracle import Oracle
from bench.prepare import Tell
from bench.running import Running
from bench.status import Status

CLOSE_S = 60.0  # the time that a backend may take to close what it has compiled


class LastChecks:
    """The last checks of the cells of one group, which may be made of several cells at once."""

    def __init__(self, measure: Measure, oracle: Oracle, tell: Tell) -> None:
        self._measure = measure
        self._oracle = oracle
        self._tell = tell
        self._seed = fresh.random_seed()
        self._chosen: list[int] | None = None
        self._lock = threading.Lock()

    def close(self, running: Running) -> Ended:
        """How a cell ends, with all that its process still tells in its row. Raises Ended if it is wrong after all."""
        child, row = running.child, running.row
        if self._measure.profile:
            child.ask("profile", path=str(child.log.with_suffix(".profile.txt")))
        row["flags"] += own_load(child.usage, running.cell.threads, "turn")
        row["elapsed"] = elapsed.check(child, running.minibatches, thorough=self._measure.stored)
        closed = child.ask("close")
        running.verifier.judge_fetches(closed["fetches"])
        row["ran"] = closed["ran"] | ({"instructions_seen": running.instructions} if running.instructions else {})
        row["flags"] += closed["flags"]
        row["memory"] = {"peak_rss_bytes": closed["peak_rss_bytes"]}
        halves = stats.drift(stats.rounds_of(row))
        if halves is not None:
            first, second = (f"{seconds * 1e3:.4g} ms" for seconds in halves)
            row["flags"].append(
                f"it changed while it was measured: {first} in the first half of the rounds, {second} in the second"
            )
        self._unseen(running)
        errors = running.verifier.seen
        times_float32 = round(errors.times_float32, 2)
        row["verified"] |= {"max_abs": errors.absolute, "max_rel": errors.relative, "times_float32": times_float32}
        row["flags"] += running.verifier.judge_precision(str(row["ran"].get("precision", "")))
        try:
            child.left_s = min(child.left_s, CLOSE_S)
            child.ask("end")
        except Ended as ended:  # all samples are taken and right: they stand
            row["flags"].append(f"close() did not work: {ended.why}")
        row["flags"] += left_behind(child.family)
        return Ended(Status.OK, None)

    def _unseen(self, running: Running) -> None:
        """Run mini-batches that the cell has never seen (bench/fresh.py). All samples are taken by now, so a failure to run
        them is only a flag. Wrong outputs, or times that show beyond doubt that samples are false, make the cell wrong."""
        child, verifier, row = running.child, running.verifier, running.row
        told_s = stats.summary(stats.rounds_of(row)).median
        size = running.cell.batch_size
        plan = fresh.plan(told_s, size, running.minibatches, thorough=self._measure.stored)
        count = plan.drawn
        try:
            child.ask("draw", seed=self._seed, count=count)
            passes = fresh.look(child, plan)
            instances = self._compared(size)
            mine = [i for i in instances if i < count * size]
            shown = child.ask("show", instances=mine)["outputs"]
        except Ended as ended:
            row["flags"].append(f"mini-batches that it had never seen could not be run: {ended.why}")
            return
        try:
            right = self._oracle.unseen(self._seed, instances, lambda text: self._tell(running.cell, text, 1.0))
            compared = mine[: len(right)]
            verified = verifier.check_unseen(shown[: len(compared)], right[: len(compared)])
        except Ended as ended:
            if ended.status != Status.UNVERIFIED:
                raise
            row["flags"].append(f"its outputs for mini-batches that it had never seen were not verified: {ended.why}")
            verified = 0
        row["fresh"], flags = fresh.judge(passes, told_s, verifier.fetch_s)
        row["fresh"]["verified"] = verified
        why = fresh.overwhelming(passes, size, told_s, verifier.fetch_s)
        if why is not None:
            raise Ended(Status.WRONG, why)
        row["flags"] += flags

    def _compared(self, size: int) -> list[int]:
        """The numbers of the unseen instances that are compared with the oracle's answers. They are chosen when the first cell
        has run them, and are the same for all cells, so that the answers are computed once."""
        with self._lock:
            if self._chosen is None:
                self._chosen = fresh.instances_to_compare(size)
            return self._chosen
