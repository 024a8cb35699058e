"""Shows the energy per instance, for rows of machines on which it could be measured."""

from __future__ import annotations

import math
from typing import Any

from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.figures import point
from bench.report.frame import number
from bench.report.section import Hole, Section, columns, failed, heads, panel, reasons, varied
from bench.report.tables import Line, Table, Value, quantity

UNREADABLE = "the machine tells no energy: no counter of a GPU (NVML) and none of the processor (RAPL) could be read"


def view(section: Section) -> None:
    """A table and a figure of the fastest rows; where no row has its energy, the hole says so."""
    experiment = section.experiment
    conditions = columns(experiment)
    groups = section.groups
    best = [(group, {name: fastest(group.chosen(condition)) for name, condition in conditions.items()}) for group in groups]
    present = [
        n for n in conditions if any(e is not None and math.isfinite(joules(e)) for _, by_name in best for e in [by_name[n]])
    ]
    if not present:
        if any(entry is not None for _, by_name in best for entry in by_name.values()):
            section.holes.append(Hole(UNREADABLE))
        return
    keys = varied(groups)
    table = Table(
        experiment.name,
        experiment.title,
        [*heads(keys), *(f"{n}, mJ per instance" for n in present)],
        notes=reasons(groups, conditions),
    )
    lines: list[dict[str, Any]] = []
    for group, by_name in best:
        values = [Value(str(group.key[key])) for key in keys]
        for name in present:
            entry = by_name[name]
            if entry is None:
                values.append(failed(group.chosen(conditions[name])))
                continue
            used = 1e3 * joules(entry)
            values.append(quantity(used, (entry.ref,)))
            if math.isfinite(used):
                other_keys = [key for key in keys if key != "workload"]
                lines.append(point(panel(group, other_keys), group.key["workload"], name, used, math.nan, math.nan, entry.ref))
        table.lines.append(Line(values, group.command))
    section.tables.append(table)
    notes = ["One number for each cell: there is no interval."]
    section.draw(lines, "bars", "millijoules of an instance", "mJ per instance", notes=notes)


def joules(entry: Entry) -> float:
    """The joules per instance: those of all turns, divided by the number of instances that were run in them."""
    runs = number(entry.record, "energy_instances")
    return number(entry.record, "energy_j") / runs if runs > 0 else math.nan
