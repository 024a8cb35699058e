"""Shows what kind of model each workload is: its control flow as a compiler sees it, and the schedule of a mini-batch."""

from __future__ import annotations

import math

from bench.report.frame import number
from bench.report.section import Hole, Section, columns, heads, reasons, varied
from bench.report.tables import Line, Table, Value, quantity

NUMBERS = {
    "phases": "phases",
    "depth": "depth",
    "width_median": "rows of a launch, median",
    "width_most": "rows of a launch, most",
    "width_of_one": "the same, one instance alone",
}


def view(section: Section) -> None:
    """The properties are `ran.properties` of the rows, which the backend gave after the last timed run (bench/facts.py)."""
    experiment = section.experiment
    groups = section.groups
    condition = next(iter(columns(experiment).values()))
    keys = varied(groups)
    headings = [
        *heads(keys),
        "recursive",
        "waits for values",
        "parallel in an instance",
        *NUMBERS.values(),
        "operations of an instance",
        "launches",
    ]
    table = Table(experiment.name, experiment.title, headings, notes=reasons(groups, columns(experiment)))
    for group in groups:
        entry = next((e for e in reversed(group.chosen(condition)) if e.ok), None)
        if entry is None:
            continue
        properties = entry.record.get("ran", {}).get("properties")
        if not isinstance(properties, dict):
            section.holes.append(
                Hole(
                    f"{group.key['workload']}: its row has no properties, because it was measured before rows told them",
                    group.command,
                )
            )
            continue
        ref = (entry.ref,)
        values = [Value(str(group.key[key]), None, ref) for key in keys]
        waits, alone = number(entry.record["counters"], "waits"), number(properties, "width_of_one")
        flags = [
            properties.get("recursive"),
            waits > 0 if math.isfinite(waits) else None,
            alone > 1 if math.isfinite(alone) else None,
        ]
        values += [Value("" if flag is None else "yes" if flag else "no", None, ref) for flag in flags]
        values += [quantity(number(properties, key), ref) for key in NUMBERS]
        nodes = number(entry.record["counters"], "nodes") / int(entry.record["batch_size"])
        values += [
            quantity(nodes if math.isfinite(nodes) else None, ref),
            quantity(number(entry.record["counters"], "launches"), ref),
        ]
        table.lines.append(Line(values, group.command))
    if table.lines:
        table.notes.append("Operations are what the compiler batches: fused kernels, not operators of the source.")
        section.tables.append(table)
