"""Latencies of several systems or variants side by side, and how many times faster each is than the first of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.report.aggregate import Comparison, compare, fastest, geometric_mean
from bench.report.entries import Entry
from bench.report.experiments import Experiment, Group
from bench.report.frame import number
from bench.report.section import (
    Section,
    columns,
    failed,
    heads,
    latency,
    mean_ratio,
    panel,
    ratio,
    ratio_point,
    reasons,
    varied,
)
from bench.report.tables import Line, Table, Value, quantity, spelled

COUNTED = {
    "batches": "batches",
    "lower_bound": "lower bound on batches",
    "mean_batch_width": "mean batch width",
    "launches": "launches",
    "nodes": "operations",
    "recorded": "calls recorded",
    "analysis_ms": "analysis, ms",
}


@dataclass
class Spot:
    """A group, with the row to compare for each column: the fastest of its rows that have finished, None if none has."""

    group: Group
    best: Mapping[str, Entry | None]

    def ratio(self, reference: str, name: str) -> Comparison | None:
        a, b = self.best[reference], self.best[name]
        return None if a is None or b is None else compare(a, b)


def view(section: Section) -> None:
    """A table and a figure of the ratios to the first column; `report.counts` in the experiment's file adds a table of
    counters."""
    experiment = section.experiment
    conditions = columns(experiment)
    groups = section.groups
    group_spots = spots(experiment)
    present = [name for name in conditions if any(spot.best[name] is not None for spot in group_spots)]
    if not present:
        return
    missing = [name for name in conditions if name not in present]
    table = _latencies(experiment, group_spots, present)
    table.notes += reasons(groups, conditions)
    if missing:
        table.notes.append(f"No row that has finished: {', '.join(missing)}.")
    section.tables.append(table)
    if experiment.report.get("counts"):
        section.tables.append(_counts(experiment, group_spots, present, experiment.report["counts"]))
    if len(present) > 1:
        _draw(section, group_spots, present)


def spots(experiment: Experiment) -> list[Spot]:
    """A spot for each group that has rows."""
    conditions = columns(experiment)
    groups = [group for group in experiment.groups if group.entries]
    return [Spot(g, {name: fastest(g.chosen(condition)) for name, condition in conditions.items()}) for g in groups]


def _latencies(experiment: Experiment, spots: Sequence[Spot], present: Sequence[str]) -> Table:
    keys = varied([spot.group for spot in spots])
    reference, *others = present
    headings = heads(keys)
    headings += [f"{name}, ms" for name in present] + [f"{name}, times faster than {reference}" for name in others]
    table = Table(experiment.name, experiment.title, headings)
    conditions = columns(experiment)
    for spot in spots:
        values = [_key(spot.group.key[key]) for key in keys]
        for name in present:
            best = spot.best[name]
            values.append(failed(spot.group.chosen(conditions[name])) if best is None else latency(best))
        values += [ratio(spot.ratio(reference, name)) for name in others]
        table.lines.append(Line(values, spot.group.command))
    if others:
        table.lines += _means(spots, present, len(keys))
    table.notes.append("Latency: median over the rounds, ± half of its 95 % interval. Ratios are made round by round.")
    return table


def _means(spots: Sequence[Spot], present: Sequence[str], before: int) -> list[Line]:
    """The lines with geometric means of the ratios: over the groups that all systems have finished; if that leaves groups out,
    also for each system over the groups that it and the reference have finished."""
    reference, *others = present
    complete = [spot for spot in spots if all(spot.best[name] is not None for name in present)]
    blank = [Value("")] * (before - 1 + len(present))

    def line(text: str, comparisons: Mapping[str, list[Comparison | None]], counted: bool) -> Line:
        values = [Value(text), *blank]
        for name in others:
            mean = geometric_mean(comparisons[name])
            if mean is None:
                values.append(Value("none"))
                continue
            value = mean_ratio(mean)
            text_ = f"{value.text} ({mean.count} of {mean.count + mean.left_out})" if counted else value.text
            values.append(Value(text_, value.number, value.rows, value.marks))
        return Line(values, total=True)

    left_out = len(spots) - len(complete)
    text = f"geometric mean of the {len(complete)} cells that all have finished" + (
        f" ({left_out} left out)" if left_out else ""
    )
    lines = [line(text, {name: [s.ratio(reference, name) for s in complete] for name in others}, counted=False)]
    if left_out and len(others) > 1:
        text = f"geometric mean of the cells that it and {reference} have finished"
        lines.append(line(text, {name: [s.ratio(reference, name) for s in spots] for name in others}, counted=True))
    return lines


def _counts(experiment: Experiment, spots: Sequence[Spot], present: Sequence[str], counts: Sequence[str]) -> Table:
    """A table of counters; a counter that a system nowhere reports has no column."""

    def counted(spot: Spot, name: str, count: str) -> float:
        best = spot.best[name]
        return math.nan if best is None else number(best.record["counters"], count)

    keys = varied([spot.group for spot in spots])
    countable = [
        (name, count)
        for count in counts
        for name in present
        if not all(math.isnan(counted(spot, name, count)) for spot in spots)
    ]
    headings = heads(keys) + [f"{name}, {COUNTED[count]}" for name, count in countable]
    table = Table(f"{experiment.name}-counts", f"{experiment.title}: batches of a mini-batch", headings)
    for spot in spots:
        values = [_key(spot.group.key[key]) for key in keys]
        for name, count in countable:
            best = spot.best[name]
            values.append(Value("") if best is None else quantity(counted(spot, name, count), (best.ref,)))
        table.lines.append(Line(values, spot.group.command))
    return table


def _draw(section: Section, spots: Sequence[Spot], present: Sequence[str]) -> None:
    reference, *others = present
    keys = [key for key in varied([spot.group for spot in spots]) if key != "workload"]
    lines: list[dict[str, Any]] = []
    for spot in spots:
        for name in others:
            comparison = spot.ratio(reference, name)
            if comparison is not None:
                lines.append(ratio_point(panel(spot.group, keys), spot.group.key["workload"], name, comparison))
    if not lines:
        return
    heights = [line["y"] for line in lines]
    notes = [f"{reference} is 1, the dotted line; whiskers are 95 % intervals of the ratio."]
    if not any(math.isfinite(line["low"]) for line in lines):
        notes.append("Bars without a whisker are ratios of rows of different sessions, or of too few rounds.")
    means = {name: geometric_mean([s.ratio(reference, name) for s in spots]) for name in others}
    texts = [f"{name} {spelled(mean.value)} ({mean.count} cells)" for name, mean in means.items() if mean is not None]
    notes.append(f"Geometric means: {', '.join(texts)}.")
    unit = f"times faster than {reference}"
    wide = max(heights) / min(heights) > 8
    section.draw(lines, "bars", unit, unit, log_y=wide, reference=1.0, own_scale=False, notes=notes)


def _key(value: Any) -> Value:
    return Value(str(value), float(value) if isinstance(value, int) else None)
