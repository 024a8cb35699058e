"""The last checks of a cell, when it has all its samples: what its process says it did, and mini-batches that are new to it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from bench import elapsed, fresh, standing, stats
from bench.cell import Cell
from bench.config import Measure
from bench.isolate import Child, Ended
from bench.log import one_line
from bench.monitor import left_behind, own_load
from bench.oracle import Oracle
from bench.prepare import Tell
from bench.running import Running
from bench.status import Status

CLOSE_S = 60.0  # the time that a backend may take to close what it has compiled


class LastChecks:
    """The last checks of the cells of one group, which may be made of several cells at once."""

    def __init__(self, cells: Sequence[Cell], measure: Measure, oracle: Oracle, tell: Tell) -> None:
        self._measure = measure
        self._oracle = oracle
        self._tell = tell
        self._numbers = {cell.id: i for i, cell in enumerate(cells)} if measure.stored else _numbers(cells)
        self._seeds = {number: fresh.random_seed() for number in self._numbers.values()}
        self._chosen: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        self._orphans_before = set(Child.look_for_orphans())
        self._outside = "outside of its tree" + (", unless another cell of its session did" if len(cells) > 1 else "")

    def close(self, running: Running) -> Ended:
        """Returns how a cell ends, after adding to its row what its process reports at the end. Raises Ended if the cell is
        wrong after all."""
        child, row = running.child, running.row
        if self._measure.profile:
            child.ask("profile", path=str(child.log.with_suffix(".profile.txt")))
        row["flags"] += own_load(child.usage, running.cell.threads, "turn")
        row["flags"] += running.told.judge(child.usage.asked["turn"].cost_s, running.verifier.fetch_s)
        row["elapsed"] = elapsed.check(child, running.minibatches, thorough=self._measure.stored)
        row["flags"] += elapsed.judge(row["elapsed"], stats.summary(stats.rounds_of(row)).median)
        closed = child.ask("close")
        running.verifier.judge_fetches(closed["fetches"])
        row["ran"] = closed["ran"] | ({"instructions_seen": running.instructions} if running.instructions else {})
        row["flags"] += [one_line(flag) for flag in closed["flags"]]
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
        row["flags"] += left_behind(child.family.strays().values(), "in a session of their own")
        orphans = {pid: name for pid, name in Child.look_for_orphans().items() if pid not in self._orphans_before}
        row["flags"] += left_behind(orphans.values(), self._outside)
        row["flags"] += standing.altered(child.standing, standing.standing(child.process.pid))
        return Ended(Status.OK, None)

    def _unseen(self, running: Running) -> None:
        """Run mini-batches that the cell has never seen (bench/fresh.py). All samples are taken by now, so a failure to run
        them is only a flag. Wrong outputs, or times that show beyond doubt that samples are false, make the cell wrong."""
        child, verifier, row = running.child, running.verifier, running.row
        told_s = stats.summary(stats.rounds_of(row)).median
        size = running.cell.batch_size
        plan = fresh.plan(told_s, size, running.minibatches, thorough=self._measure.stored)
        seed = self._seeds[self._numbers[running.cell.id]]
        try:
            passes, shown = fresh.look(child, plan, size, seed)
        except Ended as ended:
            row["flags"].append(f"mini-batches that it had never seen could not be run: {ended.why}")
            return
        try:
            instances = self._compared(seed, size)
            right = self._oracle.unseen(seed, instances, lambda text: self._tell(running.cell, text, 1.0))
            mine = [(i, answer) for i, answer in zip(instances, right, strict=False) if i < plan.drawn * size]
            verified = verifier.check_unseen(shown, mine)
        except Ended as ended:
            if ended.status != Status.UNVERIFIED:
                raise
            row["flags"].append(f"its outputs for mini-batches that it had never seen were not verified: {ended.why}")
            verified = 0
        row["fresh"], flags = fresh.judge(passes, told_s, verifier.fetch_s, fresh.drawing_s(passes, running.draw_s))
        row["fresh"]["verified"] = verified
        why = fresh.overwhelming(passes, size, told_s, verifier.fetch_s)
        if why is not None:
            raise Ended(Status.WRONG, why)
        row["flags"] += flags

    def _compared(self, seed: int, size: int) -> list[int]:
        """The numbers of the unseen instances that are compared with the oracle's answers. They are chosen when the first cell
        has run them, and are the same for all cells with this seed, so that the answers are computed once."""
        with self._lock:
            if seed not in self._chosen:
                self._chosen[seed] = fresh.instances_to_compare(size)
            return self._chosen[seed]


def _numbers(cells: Sequence[Cell]) -> dict[str, int]:
    """For each cell of a quick check, by id, how many cells of its backend come before it. Cells with one number get the same
    new mini-batches, so that their answers are computed once. Otherwise each cell gets its own, so that none knows what another
    runs, and can leave the answers for it."""
    numbers: dict[str, int] = {}
    met: dict[str, int] = {}
    for cell in cells:
        numbers[cell.id] = met.get(cell.backend.name, 0)
        met[cell.backend.name] = numbers[cell.id] + 1
    return numbers
