"""Shows floating-point operations per second as a share of the peak that a probe reached on the machine in the same session."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bench.report.aggregate import fastest
from bench.report.entries import Entry
from bench.report.experiments import Experiment, Group
from bench.report.figures import point
from bench.report.frame import number
from bench.report.section import Hole, Section, columns, failed, heads, panel, reasons, spot, varied
from bench.report.tables import Line, Table, Value, quantity


@dataclass
class Shares:
    """A group with the operations of its mini-batches, and the share of the peak, with its row, that each column reached."""

    group: Group
    flops: float
    counted_in: str  # the row that counted the operations
    peak: float  # GFLOP/s, of the first column that has one
    of: dict[str, tuple[float, Entry] | None]


def view(section: Section) -> None:
    """In the experiment's file, `report.operations` describes the row of a group whose `product_flops` is used for all."""
    experiment = section.experiment
    conditions = columns(experiment)
    groups = section.groups
    keys = varied(groups)
    body = []
    for group in groups:
        shares = _shares(group, experiment)
        body += [shares] if isinstance(shares, Shares) else []
        section.holes += [shares] if isinstance(shares, Hole) else []
    present = [name for name in conditions if any(shares.of[name] is not None for shares in body)]
    if not present:
        return
    headings = [*heads(keys), "GFLOP of a mini-batch", "peak, GFLOP/s"]
    headings += [f"{name}, % of peak" for name in present]
    table = Table(experiment.name, experiment.title, headings, notes=reasons(groups, conditions))
    points: list[dict[str, Any]] = []
    other_keys = [key for key in keys if key != "workload"]
    for shares in body:
        group = shares.group
        values = [Value(str(group.key[key])) for key in keys]
        values.append(quantity(shares.flops / 1e9, (shares.counted_in,)))
        values.append(quantity(shares.peak, tuple(share[1].ref for share in shares.of.values() if share is not None)[:1]))
        for name in present:
            share = shares.of[name]
            if share is None:
                values.append(failed(group.chosen(conditions[name])))
                continue
            percent, entry = 100 * share[0], share[1]
            rows = (shares.counted_in, entry.ref)
            values.append(quantity(percent, rows))
            summary = entry.summary
            ends = (percent * summary.median / summary.high, percent * summary.median / summary.low)
            points.append(point(panel(group, other_keys), group.key["workload"], name, percent, *ends, " ".join(rows)))
        table.lines.append(Line(values, group.command))
    section.tables.append(table)
    notes = ["Whiskers come from the 95 % interval of the latency."]
    section.draw(points, "bars", "operations per second, % of the peak", "% of the peak", own_scale=False, notes=notes)


def _shares(group: Group, experiment: Experiment) -> Shares | Hole:
    """The shares of the peak in a group, or what is missing to know them."""
    counted = fastest(group.chosen(experiment.report["operations"]))
    flops = math.nan if counted is None else number(counted.record["counters"], "product_flops")
    best = {name: fastest(group.chosen(condition)) for name, condition in columns(experiment).items()}
    peaks = [peak(entry) for entry in best.values() if entry is not None and math.isfinite(peak(entry))]
    if counted is None or not math.isfinite(flops) or not peaks:
        reason = "no row that counts its operations" if counted is None else "no probe of the processor in its session"
        return Hole(f"{spot(group)}: {reason}", group.command)
    of = {
        name: (flops / entry.summary.median / 1e9 / peak(entry), entry)
        if entry is not None and math.isfinite(peak(entry))
        else None
        for name, entry in best.items()
    }
    return Shares(group, flops, counted.ref, peaks[0], of)


def peak(entry: Entry) -> float:
    """The GFLOP/s that the probe reached in the session of the row; NaN if it did not keep its accumulators in registers
    (`bench/peak.py`), since what it reached is no peak then."""
    probed = entry.record.get("peak") or {}
    return number(probed, "gflops") if probed.get("accumulators") == "registers" else math.nan
