"""The optimisations of a system added one after the other: latency of each step, and ratios to the first and previous step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.report.aggregate import Comparison, compare, geometric_mean
from bench.report.entries import Entry
from bench.report.experiments import Group
from bench.report.section import NOT_MEASURED, Section, failed, heads, latency, mean_ratio, panel, ratio, ratio_point, varied
from bench.report.tables import Line, Table, Value


def view(section: Section) -> None:
    """In the experiment's file, `report.option` is the option whose value names a step; the steps have the variants' order."""
    experiment = section.experiment
    option = str(experiment.report["option"])
    groups = [group for group in experiment.groups if any(entry.ok for entry in group.entries)]
    steps = list(dict.fromkeys(str(each.cell.backend.options.get(option)) for g in experiment.groups for each in g.cells))
    if not groups:
        return
    keys = varied(groups)
    table = Table(
        experiment.name,
        experiment.title,
        [*heads(keys), "step", "latency, ms", "times faster than the first", "than the step before"],
    )
    points: list[dict[str, Any]] = []
    gains: dict[str, list[Comparison | None]] = {step: [] for step in steps}
    for group in groups:
        by_step = _steps(group, option)
        key = [Value(str(group.key[k])) for k in keys]
        for step, entry, total, gain in _compared(by_step, steps):
            gains[step].append(gain)
            if entry is None or not entry.ok:
                missing = Value(NOT_MEASURED) if entry is None else failed([entry])
                table.lines.append(Line([*key, Value(step), missing, Value(""), Value("")], group.command))
                continue
            table.lines.append(
                Line([*key, Value(step, None, (entry.ref,)), latency(entry), ratio(total), ratio(gain)], group.command)
            )
            if total is not None:
                points.append(ratio_point(panel(group, keys), step, str(experiment.report["backend"]), total))
        table.notes += [
            f"{step}: {entry.record['status']}: {entry.record['why']} ({group.key['workload']})"
            for step, entry in by_step.items()
            if not entry.ok
        ]
    table.notes = sorted(set(table.notes))
    table.lines += [line for step in steps[1:] if (line := _mean_gain(step, gains[step], len(keys))) is not None]
    section.tables.append(table)
    notes = ["Each bar has the optimisations of all bars to its left; whiskers are 95 % intervals."]
    section.draw(points, "bars", "times faster than the first step", "times faster", reference=1.0, notes=notes)


def _compared(
    by_step: Mapping[str, Entry], steps: Sequence[str]
) -> Iterator[tuple[str, Entry | None, Comparison | None, Comparison | None]]:
    """Each step with its row, and the row compared with that of the first step, and with that of the step before."""
    finished = [entry for step in steps if (entry := by_step.get(step)) is not None and entry.ok]
    before: Entry | None = None
    for step in steps:
        entry = by_step.get(step)
        if entry is None or not entry.ok:
            yield step, entry, None, None
            continue
        yield step, entry, compare(finished[0], entry), None if before is None else compare(before, entry)
        before = entry


def _mean_gain(step: str, gains: Sequence[Comparison | None], keys: int) -> Line | None:
    """The line with the geometric mean of what a step gains, after `keys` columns; None if nothing could be compared."""
    mean = geometric_mean(gains)
    if mean is None:
        return None
    left_out = f", {mean.left_out} left out" if mean.left_out else ""
    blank = [Value("")] * (keys - 1)
    text = Value(f"geometric mean of {mean.count}{left_out}")
    return Line([text, *blank, Value(step), Value(""), Value(""), mean_ratio(mean)], total=True)


def _steps(group: Group, option: str) -> dict[str, Entry]:
    return {str(each.cell.backend.options.get(option)): each.entry for each in group.cells if each.entry is not None}
