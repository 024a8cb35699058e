"""Where the time of a mini-batch goes: to ingest, construct, schedule, copy, kernel, fetch, and the rest."""

from __future__ import annotations

import math
from typing import Any

from bench.breakdown import PHASES
from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.experiments import Experiment, Group
from bench.report.figures import Figure
from bench.report.frame import number
from bench.report.section import HEADS, Section, columns, holes, latency, panel, reasons, varied
from bench.report.tables import Line, Table, Value, quantity, word

REST = "rest"
COUNTS = {"batches": "batches", "mean_batch_width": "mean width", "launches": "launches"}


def view(experiment: Experiment) -> Section:
    """A table and stacked bars of the milliseconds that the fastest row of each column spends in each phase."""
    section = Section(experiment, holes=holes(experiment))
    conditions = columns(experiment)
    groups = [group for group in experiment.groups if group.entries]
    best = [(group, name, fastest(group.chosen(condition))) for group in groups for name, condition in conditions.items()]
    shown = [(group, name, entry) for group, name, entry in best if entry is not None and entry.record["breakdown"]]
    if not shown:
        return section
    keys = varied(groups)
    heads = [
        *(HEADS[key] for key in keys),
        "system",
        "latency, ms",
        *(f"{phase}, ms" for phase in (*PHASES, REST)),
        *COUNTS.values(),
    ]
    table = Table(experiment.name, experiment.title, heads, notes=reasons(groups, conditions))
    for group, name, entry in shown:
        values = [Value(str(group.key[key])) for key in keys] + [word(name, (entry.ref,)), latency(entry)]
        parts = split(entry)
        values += [quantity(parts.get(phase, math.nan), (entry.ref,)) for phase in (*PHASES, REST)]
        values += [quantity(number(entry.record["counters"], count), (entry.ref,)) for count in COUNTS]
        table.lines.append(Line(values, group.command))
    table.notes.append(
        "An empty field is an activity that the system does not account for by itself: it is in another or in the rest."
    )
    section.tables.append(table)
    section.figures.append(_figure(experiment, shown, keys))
    return section


def split(entry: Entry) -> dict[str, float]:
    """The milliseconds of each activity. `REST` is the latency less all others, and at least 0."""
    phase_times = {phase: float(value) for phase, value in entry.record["breakdown"].items() if value is not None}
    return phase_times | {REST: max(0.0, entry.summary.median * 1e3 - sum(phase_times.values()))}


def _figure(experiment: Experiment, shown: list[tuple[Group, str, Entry]], keys: list[str]) -> Figure:
    import pandas as pd

    lines: list[dict[str, Any]] = []
    used = [phase for phase in (*PHASES, REST) if any(split(entry).get(phase, 0) > 0 for _, _, entry in shown)]
    for group, name, entry in shown:
        parts = split(entry)
        summary = entry.summary
        for phase in used:
            lines.append(
                {
                    "panel": panel(group, keys), "x": "", "hue": name, "part": phase, "y": parts.get(phase, 0.0),
                    "total": summary.median * 1e3, "low": summary.low * 1e3, "high": summary.high * 1e3, "rows": entry.ref,
                }
            )  # fmt: skip
    return Figure(
        experiment.name, f"{experiment.title}: milliseconds of a mini-batch by activity", pd.DataFrame(lines), "stacks", "",
        "ms", notes=["Whiskers: 95 % interval of the latency. Each panel has its own scale."],
    )  # fmt: skip
