"""Shows a quantity against a number, such as batch size, threads or schedules tried, with a line for each system or variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.experiments import Group
from bench.report.figures import point
from bench.report.frame import number
from bench.report.section import Section, columns, failed, heads, panel, reasons, varied
from bench.report.tables import FLAGGED, Line, Table, Value, with_interval

Interval = tuple[float, float, float]  # a value and the ends of its interval, which are NaN where it has none

QUANTITIES: Mapping[str, tuple[str, Callable[[Entry], Interval]]] = {
    "latency_ms": ("latency, ms", lambda e: _scaled(e, 1e3)),
    "latency_per_instance_ms": ("latency per instance, ms", lambda e: _scaled(e, 1e3 / e.record["batch_size"])),
    "peak_memory_mib": (
        "peak memory, MiB",
        lambda e: (number(e.record["memory"], "peak_rss_bytes") / 2**20, math.nan, math.nan),
    ),
    "compile_s": ("time to compile, s", lambda e: (number(e.record["cold"], "compile_s"), math.nan, math.nan)),
}


def view(section: Section) -> None:
    """In the experiment's file, `report.x` is a key of the sweep or `option.<name>`, and `report.y` one of `QUANTITIES`."""
    experiment = section.experiment
    conditions, along = columns(experiment), str(experiment.report["x"])
    unit, measure = QUANTITIES[str(experiment.report["y"])]
    groups = section.groups
    entries_at: dict[tuple[str, float], dict[str, list[Entry]]] = {}
    commands: dict[tuple[str, float], str] = {}
    keys = varied(groups, without=[along])
    for group in groups:
        for name, condition in conditions.items():
            for x, entry in _points(group, group.chosen(condition), along):
                entries_at.setdefault((panel(group, keys), x), {}).setdefault(name, []).append(entry)
                commands[panel(group, keys), x] = group.command
    present = [name for name in conditions if any(e.ok for by_name in entries_at.values() for e in by_name.get(name, []))]
    if not present:
        return
    label = str(experiment.report.get("x_label", along))
    table = Table(
        experiment.name,
        experiment.title,
        [
            "workload" if keys == ["workload"] else ", ".join(heads(keys)),
            label,
            *(f"{name}, {unit}" for name in present),
        ],
    )
    lines: list[dict[str, Any]] = []
    for (panel_name, x), by_name in sorted(entries_at.items()):
        values = [Value(panel_name), Value(f"{x:g}", x)]
        for name in present:
            best = fastest(by_name.get(name, []))
            if best is None:
                values.append(failed(by_name.get(name, [])))
                continue
            value, low, high = measure(best)
            values.append(
                with_interval(value, low, high, (best.ref,), (FLAGGED,) if best.flags else ())
                if math.isfinite(value)
                else Value("")
            )
            lines.append(point(panel_name, x, name, value, low, high, best.ref))
        table.lines.append(Line(values, commands[panel_name, x]))
    table.notes += reasons(groups, conditions)
    sessions = {entry.session for by_name in entries_at.values() for entries in by_name.values() for entry in entries}
    if len(sessions) > 1:
        table.notes.append(
            f"The points are of {len(sessions)} sessions: a difference along the axis has what changed between them in it."
        )
    absent = [name for name in conditions if name not in present]
    if absent:
        table.notes.append(f"No row that has finished: {', '.join(absent)}.")
    section.tables.append(table)
    interval = any(math.isfinite(line["low"]) for line in lines)
    notes = ["Whiskers are 95 % intervals." if interval else "One number for each cell: there is no interval."]
    log = {axis: bool(experiment.report.get(axis)) for axis in ("log_x", "log_y")}
    section.draw(lines, "lines", unit, unit, label, notes=notes, **log)


def _points(group: Group, entries: list[Entry], along: str) -> list[tuple[float, Entry]]:
    if along.startswith("option."):
        option = along.removeprefix("option.")
        return [(float(e.options[option]), e) for e in entries if isinstance(e.options.get(option), int | float)]
    return [(float(group.key[along]), entry) for entry in entries]


def _scaled(entry: Entry, factor: float) -> Interval:
    summary = entry.summary
    return summary.median * factor, summary.low * factor, summary.high * factor
