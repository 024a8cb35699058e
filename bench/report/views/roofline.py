"""Shows floating-point operations per second as a share of the peak that a probe reached on the machine in the same session."""

from __future__ import annotations

import math
from typing import Any

from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.experiments import Experiment
from bench.report.figures import COLUMNS, Figure
from bench.report.frame import number
from bench.report.section import HEADS, Hole, Section, columns, failed, holes, panel, reasons, spot, varied
from bench.report.tables import Line, Table, Value, quantity


def view(experiment: Experiment) -> Section:
    """In the experiment's file, `report.operations` describes the row of a group whose `product_flops` is used for all."""
    section = Section(experiment, holes=holes(experiment))
    wanted = columns(experiment)
    groups = [group for group in experiment.groups if group.entries]
    keys = varied(groups)
    found = dict.fromkeys(wanted, False)
    body: list[tuple[Any, dict[str, tuple[float, Entry] | None], float, float, tuple[str, ...]]] = []
    for group in groups:
        counted = fastest(group.chosen(experiment.report["operations"]))
        flops = math.nan if counted is None else number(counted.record["counters"], "product_flops")
        best = {name: fastest(group.chosen(where)) for name, where in wanted.items()}
        peaks = [peak(entry) for entry in best.values() if entry is not None and math.isfinite(peak(entry))]
        if counted is None or not math.isfinite(flops) or not peaks:
            why = "no row that counts its operations" if counted is None else "no probe of the processor in its session"
            section.holes.append(Hole(f"{spot(group)}: {why}", group.command))
            continue
        shares = {
            name: (flops / entry.summary.median / 1e9 / peak(entry), entry)
            if entry is not None and math.isfinite(peak(entry))
            else None
            for name, entry in best.items()
        }
        found |= {name: True for name, share in shares.items() if share is not None}
        body.append((group, shares, flops, peaks[0], (counted.ref,)))
    present = [name for name in wanted if found[name]]
    if not present:
        return section
    heads = [
        *(HEADS[key] for key in keys),
        "GFLOP of a mini-batch",
        "peak, GFLOP/s",
        *(f"{name}, % of peak" for name in present),
    ]
    table = Table(experiment.name, experiment.title, heads, notes=reasons(groups, wanted))
    lines: list[dict[str, Any]] = []
    for group, shares, flops, most, counted_in in body:
        values = [Value(str(group.key[key])) for key in keys]
        values += [
            quantity(flops / 1e9, counted_in),
            quantity(most, tuple(s[1].ref for s in shares.values() if s is not None)[:1]),
        ]
        for name in present:
            share = shares[name]
            if share is None:
                values.append(failed(group.chosen(wanted[name])))
                continue
            value, entry = share
            values.append(quantity(100 * value, (*counted_in, entry.ref)))
            summary = entry.summary
            ends = (100 * value * summary.median / summary.high, 100 * value * summary.median / summary.low)
            rest = [key for key in keys if key != "workload"]
            lines.append(
                dict(
                    zip(
                        COLUMNS,
                        (
                            panel(group, rest),
                            group.key["workload"],
                            name,
                            100 * value,
                            *ends,
                            " ".join((*counted_in, entry.ref)),
                        ),
                        strict=True,
                    )
                )
            )
        table.lines.append(Line(values, group.command))
    section.tables.append(table)
    section.figures.append(_figure(experiment, lines))
    return section


def peak(entry: Entry) -> float:
    """The GFLOP/s that the probe reached in the session of the row."""
    return number(entry.record.get("peak") or {}, "gflops")


def _figure(experiment: Experiment, lines: list[dict[str, Any]]) -> Figure:
    import pandas as pd

    return Figure(
        experiment.name, f"{experiment.title}: operations per second, % of the peak", pd.DataFrame(lines), "bars", "",
        "% of the peak", own_scale=False, notes=["Whiskers come from the 95 % interval of the latency."],
    )  # fmt: skip
