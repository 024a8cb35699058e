"""Where the time of a mini-batch goes: to ingest, construct, schedule, copy, kernel, fetch, and the rest."""

from __future__ import annotations

import math
from typing import Any

from bench.breakdown import PHASES
from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.experiments import Group
from bench.report.frame import number
from bench.report.section import Section, columns, heads, latency, panel, reasons, varied
from bench.report.tables import Line, Table, Value, quantity

REST = "rest"
COUNTS = {"batches": "batches", "mean_batch_width": "mean width", "launches": "launches"}


def view(section: Section) -> None:
    """A table and stacked bars of the milliseconds that the fastest row of each column spends in each phase."""
    experiment = section.experiment
    conditions = columns(experiment)
    groups = section.groups
    best = [(group, name, fastest(group.chosen(condition))) for group in groups for name, condition in conditions.items()]
    shown = [(group, name, entry) for group, name, entry in best if entry is not None and entry.record["breakdown"]]
    if not shown:
        return
    keys = varied(groups)
    headings = [
        *heads(keys),
        "system",
        "latency, ms",
        *(f"{phase}, ms" for phase in (*PHASES, REST)),
        *COUNTS.values(),
    ]
    table = Table(experiment.name, experiment.title, headings, notes=reasons(groups, conditions))
    for group, name, entry in shown:
        values = [Value(str(group.key[key])) for key in keys] + [Value(name, None, (entry.ref,)), latency(entry)]
        parts = split(entry)
        values += [quantity(parts.get(phase, math.nan), (entry.ref,)) for phase in (*PHASES, REST)]
        values += [quantity(number(entry.record["counters"], count), (entry.ref,)) for count in COUNTS]
        table.lines.append(Line(values, group.command))
    table.notes.append(
        "An empty field is an activity that the system does not account for by itself: it is in another or in the rest."
    )
    section.tables.append(table)
    notes = ["Whiskers: 95 % interval of the latency. Each panel has its own scale."]
    section.draw(_points(shown, keys), "stacks", "milliseconds of a mini-batch by activity", "ms", notes=notes)


def split(entry: Entry) -> dict[str, float]:
    """The milliseconds of each activity. `REST` is the latency less all others, and at least 0."""
    phase_times = {phase: float(value) for phase, value in entry.record["breakdown"].items() if value is not None}
    return phase_times | {REST: max(0.0, entry.summary.median * 1e3 - sum(phase_times.values()))}


def _points(shown: list[tuple[Group, str, Entry]], keys: list[str]) -> list[dict[str, Any]]:
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
    return lines
