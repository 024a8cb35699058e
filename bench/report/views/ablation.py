"""The optimisations of a system added one after the other: latency of each step, and ratios to the first and previous step."""

from __future__ import annotations

from typing import Any

from bench.report.aggregate import Comparison, compare, geometric_mean
from bench.report.entries import Entry
from bench.report.experiments import Experiment, Group
from bench.report.figures import COLUMNS, Figure
from bench.report.section import HEADS, NOT_MEASURED, Section, failed, holes, latency, panel, ratio, varied
from bench.report.tables import APART, SAME, Line, Table, Value, with_interval, word


def view(experiment: Experiment) -> Section:
    """In the experiment's file, `report.option` is the option whose value names a step; the steps have the variants' order."""
    section = Section(experiment, holes=holes(experiment))
    option = str(experiment.report["option"])
    groups = [group for group in experiment.groups if any(entry.ok for entry in group.entries)]
    steps = list(dict.fromkeys(str(each.cell.backend.options.get(option)) for g in experiment.groups for each in g.found))
    if not groups:
        return section
    keys = varied(groups)
    table = Table(
        experiment.name,
        experiment.title,
        [*(HEADS[key] for key in keys), "step", "latency, ms", "times faster than the first", "than the step before"],
    )
    lines: list[dict[str, Any]] = []
    gains: dict[str, list[Comparison | None]] = {step: [] for step in steps}
    for group in groups:
        found = _steps(group, option)
        first = next(entry for step in steps for entry in [found.get(step)] if entry is not None and entry.ok)
        before: Entry | None = None
        for step in steps:
            entry = found.get(step)
            key = [Value(str(group.key[k])) for k in keys]
            if entry is None or not entry.ok:
                table.lines.append(
                    Line(
                        [*key, word(step), Value(NOT_MEASURED) if entry is None else failed([entry]), Value(""), Value("")],
                        group.command,
                    )
                )
                gains[step].append(None)
                continue
            total = compare(first, entry)
            gain = None if before is None else compare(before, entry)
            gains[step].append(gain)
            table.lines.append(Line([*key, word(step, (entry.ref,)), latency(entry), ratio(total), ratio(gain)], group.command))
            if total is not None:
                lines.append(
                    dict(
                        zip(
                            COLUMNS,
                            (
                                panel(group, keys),
                                step,
                                str(experiment.report["backend"]),
                                total.ratio.value,
                                total.ratio.low,
                                total.ratio.high,
                                " ".join(total.rows),
                            ),
                            strict=True,
                        )
                    )
                )
            before = entry
    for step in steps[1:]:
        mean = geometric_mean(gains[step])
        if mean is not None:
            left = f", {mean.left_out} left out" if mean.left_out else ""
            marks = ((APART,) if mean.apart else ()) + ((SAME,) if mean.has_interval and not mean.significant else ())
            value = with_interval(mean.value, mean.low, mean.high, mean.rows, marks)
            blank = [Value("")] * (len(keys) - 1)
            table.lines.append(
                Line(
                    [word(f"geometric mean of {mean.count}{left}"), *blank, word(step), Value(""), Value(""), value], total=True
                )
            )
    failures = {
        f"{step}: {entry.record['status']}: {entry.record['why']} ({group.key['workload']})"
        for group in groups
        for step, entry in _steps(group, option).items()
        if not entry.ok
    }
    table.notes += sorted(failures)
    section.tables.append(table)
    section.figures.append(_figure(experiment, lines))
    return section


def _steps(group: Group, option: str) -> dict[str, Entry]:
    return {str(each.cell.backend.options.get(option)): each.entry for each in group.found if each.entry is not None}


def _figure(experiment: Experiment, lines: list[dict[str, Any]]) -> Figure:
    import pandas as pd

    notes = ["Each bar has the optimisations of all bars to its left; whiskers are 95 % intervals."]
    title = f"{experiment.title}: times faster than the first step"
    return Figure(experiment.name, title, pd.DataFrame(lines), "bars", "", "times faster", reference=1.0, notes=notes)
