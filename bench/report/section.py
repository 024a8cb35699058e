"""A section of the report: the tables and figures of one experiment, and what is missing from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import record
from bench.report.aggregate import Comparison
from bench.report.entries import Entry, refs
from bench.report.experiments import Experiment, Group
from bench.report.figures import Figure
from bench.report.tables import APART, FLAGGED, SAME, Table, Value, with_interval

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Hole:
    """Something that is not in a table or figure: what, and the command that measures it (empty if none would)."""

    what: str
    command: str = ""


@dataclass
class Section:
    experiment: Experiment
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)

    @property
    def rows(self) -> tuple[str, ...]:
        found = [ref for table in self.tables for ref in table.rows] + [ref for figure in self.figures for ref in figure.rows]
        return tuple(dict.fromkeys(found))


def columns(experiment: Experiment) -> Mapping[str, Mapping[str, Any]]:
    """What the experiment compares: a name for each column, and the rows that stand in it."""
    found: Mapping[str, Mapping[str, Any]] = experiment.report.get("columns") or experiment.report.get("lines") or {}
    return found


def holes(experiment: Experiment) -> list[Hole]:
    """Everything that an experiment wants and has no row for, however large it is."""
    found = []
    if experiment.refused:
        found.append(Hole(f"cannot be measured here: {experiment.refused}"))
    if experiment.absent:
        found.append(Hole(f"not part of this project so far: {', '.join(experiment.absent)}"))
    for group in experiment.groups:
        if group.missing:
            names = dict.fromkeys(record.label(cell) for cell in group.missing)
            what = f"{spot(group)}: {len(group.missing)} of {len(group.found)} cells not measured ({', '.join(names)})"
            found.append(Hole(what, group.command))
    return found


def spot(group: Group) -> str:
    """`treelstm small, batch 64, 1 thread`."""
    threads = group.key["threads"]
    where = f"{threads} thread{'s' * (threads != 1)}" + ("" if group.key["device"] == "cpu" else f", {group.key['device']}")
    return f"{group.key['workload']} {group.key['size']}, batch {group.key['batch_size']}, {where}"


def varied(groups: Sequence[Group], without: Iterable[str] = ()) -> list[str]:
    """The keys that tell the groups apart, the workload always among them."""
    keys = [key for key in groups[0].key if key not in without] if groups else []
    return [key for key in keys if key == "workload" or len({group.key[key] for group in groups}) > 1]


def panel(group: Group, keys: Sequence[str]) -> str:
    """The name of a panel: those of the `keys` that there are, in words."""
    spelled = {"batch_size": "batch {}", "threads": "{} threads", "seed": "seed {}"}
    return ", ".join(spelled.get(key, "{}").format(group.key[key]) for key in keys)


HEADS = {
    "batch_size": "batch size",
    "workload": "workload",
    "size": "size",
    "threads": "threads",
    "device": "device",
    "seed": "seed",
}


def ratio(found: Comparison | None) -> Value:
    """How many times faster, with its interval; empty where nothing could be compared. It is marked where the two were not
    measured together, and where the interval has 1 in it."""
    if found is None:
        return Value("")
    marks: tuple[str, ...] = () if found.together else (APART,)
    if found.ratio.has_interval and not found.ratio.significant:
        marks += (SAME,)
    return with_interval(found.ratio.value, found.ratio.low, found.ratio.high, found.rows, marks)


def latency(entry: Entry) -> Value:
    """Milliseconds with the half-width of the interval."""
    summary = entry.summary
    marks = (FLAGGED,) if entry.flags else ()
    return with_interval(summary.median * 1e3, summary.low * 1e3, summary.high * 1e3, (entry.ref,), marks)


def failed(entries: Sequence[Entry]) -> Value:
    """In place of a number: what became of the cell, or that there is no row."""
    if not entries:
        return Value(NOT_MEASURED)
    return Value(str(entries[-1].record["status"]), None, refs(entries))


def reasons(groups: Sequence[Group], wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why columns have no number where they have rows, each reason once, with the workloads it holds for."""
    told: dict[str, list[str]] = {}
    for group in groups:
        for name, where in wanted.items():
            entries = group.chosen(where)
            if entries and not any(entry.ok for entry in entries):
                newest = entries[-1].record
                text = f"{name}: {newest['status']}: {newest['why']}"
                told.setdefault(text, []).append(str(group.key["workload"]))
    return [f"{text} ({', '.join(dict.fromkeys(names))})" for text, names in told.items()]
