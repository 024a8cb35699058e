"""Draws latency against a numeric option in which a backend's variants differ, and writes the numbers beside the figure."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from bench import stats
from bench.campaign import Row
from bench.record import title
from bench.status import Status
from bench.targets import resolve

if TYPE_CHECKING:
    import pandas

Point = dict[str, Any]

FEWEST = 3
"""The least number of values of an option that make a curve; two are a switch."""


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write each curve of the rows to `folder`, as `<workload>-<size>-<batch>-<option>` with the suffixes png, pdf and csv."""
    written = []
    for option, points in curves(rows).items():
        cell = rows[0].cell
        path = folder / f"{cell.workload.name}-{cell.size}-{cell.batch_size}-{option}"
        folder.mkdir(parents=True, exist_ok=True)
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
    """Whether an option is a quantity: its type and each of its values are numbers. The numbers in a Literal are names."""
    try:
        annotation = get_type_hints(vars(resolve(target))["__init__"]).get(option)
    except (ImportError, KeyError):
        return False
    union = get_origin(annotation) in (Union, types.UnionType)
    number = any(choice in (int, float) for choice in (get_args(annotation) if union else (annotation,)))
    return number and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _write(points: Sequence[Mapping[str, Any]], option: str, heading: str, path: Path) -> list[Path]:
    import pandas as pd

    frame = pd.DataFrame(list(points))
    table = path.with_name(path.name + ".csv")
    frame.to_csv(table, index=False)
    return [*_figure(frame, option, heading, path), table]


def _figure(frame: pandas.DataFrame, option: str, heading: str, path: Path) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    import seaborn as sns
    from matplotlib.figure import Figure

    lines = list(dict.fromkeys(frame["line"]))
    colours = dict(zip(lines, sns.color_palette("colorblind", len(lines)), strict=True))
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.subplots()
    sns.lineplot(
        frame, x=option, y="median_ms", hue="line", style="line", palette=colours, markers=True, dashes=False,
        errorbar=None, ax=axes,
    )  # fmt: skip
    for line in lines:
        own = frame[frame["line"] == line].dropna()  # fewer than five rounds have no interval
        beyond = [(own["median_ms"] - own["low_ms"]).clip(lower=0), (own["high_ms"] - own["median_ms"]).clip(lower=0)]
        axes.errorbar(own[option], own["median_ms"], yerr=beyond, fmt="none", ecolor=colours[line], capsize=3)
    axes.set(title=heading, ylabel="latency in ms, 95 % interval")
    axes.title.set_fontsize("small")
    axes.legend(title=None)
    written = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "pdf")]
    for file in written:
        # Without a date, equal figures are equal files.
        figure.savefig(file, dpi=200, metadata={"CreationDate": None} if file.suffix == ".pdf" else None)
    return written
