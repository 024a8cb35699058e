"""Draws latency against a numeric option in which a backend's variants differ, and writes the numbers beside the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import stats
from bench.campaign import Row
from bench.description import described
from bench.files import put
from bench.record import title
from bench.report.figures import Figure, point
from bench.status import Status

Point = dict[str, Any]

FEWEST = 3
"""The least number of values of an option that make a curve; two are a switch."""


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write each curve of the rows to `folder`, as `<workload>-<size>-<batch>-<option>` with the suffixes png, pdf and csv."""
    written = []
    for option, points in curves(rows).items():
        cell = rows[0].cell
        path = folder / f"{cell.workload.name}-{cell.size}-{cell.batch_size}-{option}"
        written += _write(points, option, title(cell, with_backend=False), path)
    return written


def curves(rows: Sequence[Row]) -> dict[str, list[Point]]:
    """The points of each curve, by option; a backend is in that of its numeric option with the most values. A point has
    `backend`, the option, `line` (its other options that vary), `median_ms` with `low_ms` and `high_ms`, and `samples`."""
    backends: dict[str, list[Row]] = {}
    for row in rows:
        if row.record["status"] == Status.OK:
            backends.setdefault(row.cell.backend.name, []).append(row)
    by_name: dict[str, list[Point]] = {}
    for own in backends.values():
        options = [row.cell.backend.options for row in own]
        varying = [name for name in options[0] if any(o[name] != options[0][name] for o in options)]
        counted = [name for name in varying if _is_number(own[0].cell.backend.target, name, [o[name] for o in options])]
        if not counted:
            continue
        along = max(counted, key=lambda name: len({o[name] for o in options}))
        if len({o[along] for o in options}) < FEWEST:
            continue
        others = [name for name in varying if name != along]
        by_name.setdefault(along, []).extend(sorted((_point(row, along, others) for row in own), key=lambda p: p[along]))
    return by_name


def _point(row: Row, along: str, others: Sequence[str]) -> Point:
    options = row.cell.backend.options
    summary = stats.summary(stats.rounds_of(row.record))
    return {
        "backend": row.cell.backend.name,
        along: options[along],
        "line": ", ".join([row.cell.backend.name, *(f"{name}={options[name]}" for name in others)]),
        "median_ms": summary.median * 1e3,
        "low_ms": summary.low * 1e3,
        "high_ms": summary.high * 1e3,
        "samples": summary.samples,
    }


def _is_number(target: str, option: str, values: Sequence[Any]) -> bool:
    """Whether an option is a quantity: its type and each of its values are numbers."""
    described_option = described(target).options.get(option)
    number = described_option is not None and described_option.number
    return number and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _write(points: Sequence[Mapping[str, Any]], option: str, heading: str, path: Path) -> list[Path]:
    import pandas as pd

    marks = [point(heading, p[option], p["line"], p["median_ms"], p["low_ms"], p["high_ms"], "") for p in points]
    figure = Figure(path.name, heading, marks, "lines", option, "latency in ms, 95 % interval")
    files = {kind: figure.write(kind) for kind in ("png", "pdf")} | {"csv": pd.DataFrame(points).to_csv(index=False).encode()}
    return [put(path.with_name(f"{path.name}.{kind}"), content) for kind, content in files.items()]
