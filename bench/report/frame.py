"""Rows as one frame of pandas: a line for each row, plain values, and units in the names of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench import stats
from bench.breakdown import PHASES
from bench.report.entries import Entry

if TYPE_CHECKING:
    import pandas

CELL = ("id", "session", "backend", "workload", "size", "batch_size", "threads", "device", "seed", "status", "why")
STATISTICS = ("latency_ms", "low_ms", "high_ms", "minimum_ms", "resumed_ms", "instances_per_s", "rounds", "samples")
COUNTS = ("nodes", "batches", "lower_bound", "launches", "mean_batch_width", "gathered_bytes", "product_flops")
COLD = ("load_s", "compile_s", "first_s")


def frame(entries: Sequence[Entry]) -> pandas.DataFrame:
    """A frame with a line for each row. `latency_ms` and the ends of its 95 % interval, `low_ms` and `high_ms`, are NaN where a
    row has not finished. Each option has a column `option.<name>`, empty for backends that have no such option."""
    import pandas as pd

    lines = [line(entry) for entry in entries]
    options = [f"option.{name}" for name in dict.fromkeys(name for entry in entries for name in entry.options)]
    phases = [f"{phase}_ms" for phase in PHASES]
    columns = [*CELL, "label", *STATISTICS, *phases, *COUNTS, *COLD, "peak_memory_mib", "energy_j", "verified", "max_rel"]
    columns += ["instruction_set", "load_time", "flags", "started", "commit", "ref", *options]
    return pd.DataFrame(lines, columns=columns)


def line(entry: Entry) -> dict[str, Any]:
    """A row of the data frame."""
    record = entry.record
    values: dict[str, Any] = {key: record.get(key) for key in CELL}
    values |= {"label": entry.label, "ref": entry.ref, "started": record["started"], "commit": record.get("commit")}
    values |= {f"option.{name}": value for name, value in entry.options.items()}
    values |= {f"{phase}_ms": record["breakdown"].get(phase, math.nan) for phase in PHASES}
    values |= {key: number(record["counters"], key) for key in COUNTS}
    values |= {key: number(record["cold"], key) for key in COLD}
    peak = number(record["memory"], "peak_rss_bytes")
    values |= {"peak_memory_mib": peak / 2**20, "energy_j": number(record, "energy_j")}
    values |= {"verified": record["verified"].get("n", 0), "max_rel": number(record["verified"], "max_rel")}
    values |= {"instruction_set": entry.instruction_set, "load_time": entry.load_time, "flags": "; ".join(entry.flags)}
    if entry.ok:
        values |= statistics(entry.summary, int(record["batch_size"]))
    return values


def statistics(summary: stats.Summary, batch_size: int) -> dict[str, float]:
    """What the data frame has of the samples of a row."""
    return {
        "latency_ms": summary.median * 1e3,
        "low_ms": summary.low * 1e3,
        "high_ms": summary.high * 1e3,
        "minimum_ms": summary.minimum * 1e3,
        "resumed_ms": summary.resumed * 1e3,
        "instances_per_s": batch_size / summary.median,
        "rounds": summary.rounds,
        "samples": summary.samples,
    }


def number(values: Mapping[str, Any], key: str) -> float:
    """The number under a key; NaN where it is missing or is no number."""
    value = values.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
