"""A section of the report: the tables and figures of one experiment, and what is missing from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from bench import record
from bench.report.aggregate import Comparison, Mean
from bench.report.entries import Entry, refs
from bench.report.experiments import Experiment, Group
from bench.report.figures import Figure, point
from bench.report.tables import APART, FLAGGED, SAME, Table, Value, with_interval

NOT_MEASURED = "not measured"
Kind: TypeAlias = Literal["bars", "lines", "stacks"]


@dataclass(frozen=True)
class Hole:
    """Something that is missing in a table or figure, and the command that measures it (empty if there is none)."""

    what: str
    command: str = ""


@dataclass
class Section:
    """All that the report has of one experiment."""

    experiment: Experiment
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)

    @property
    def groups(self) -> list[Group]:
        """The groups that have rows."""
        return [group for group in self.experiment.groups if group.entries]

    def draw(self, points: Sequence[Mapping[str, Any]], kind: Kind, what: str, y: str, x: str = "", **how: Any) -> None:
        """Add a figure of the experiment, which shows `what`; `how` are further settings of `Figure`."""
        name, title = self.experiment.name, f"{self.experiment.title}: {what}"
        self.figures.append(Figure(name, title, points, kind, x, y, **how))

    @property
    def rows(self) -> tuple[str, ...]:
        refs = [ref for table in self.tables for ref in table.rows] + [ref for figure in self.figures for ref in figure.rows]
        return tuple(dict.fromkeys(refs))


def columns(experiment: Experiment) -> Mapping[str, Mapping[str, Any]]:
    """What the experiment compares: for each column its name, and the condition (`Group.chosen`) for rows in it."""
    conditions: Mapping[str, Mapping[str, Any]] = experiment.report.get("columns") or experiment.report.get("lines") or {}
    return conditions


def holes(experiment: Experiment) -> list[Hole]:
    """All that is missing: why it cannot be composed, systems and workloads that do not exist, and cells without a row."""
    missing = []
    if experiment.refused:
        missing.append(Hole(f"cannot be measured here: {experiment.refused}"))
    if experiment.absent:
        missing.append(Hole(f"not part of this project so far: {', '.join(experiment.absent)}"))
    for group in experiment.groups:
        if group.missing:
            names = ", ".join(dict.fromkeys(record.label(cell) for cell in group.missing))
            which = f" ({names})" if len(group.missing) < len(group.cells) else ""  # the command says it where all are missing
            text = f"{spot(group)}: {len(group.missing)} of {len(group.cells)} cells not measured{which}"
            missing.append(Hole(text, group.command))
    return missing


def spot(group: Group) -> str:
    """The group in words, as in `treelstm small, batch 64, 1 thread`."""
    threads = group.key["threads"]
    setting = f"{threads} thread{'s' * (threads != 1)}" + ("" if group.key["device"] == "cpu" else f", {group.key['device']}")
    return f"{group.key['workload']} {group.key['size']}, batch {group.key['batch_size']}, {setting}"


def varied(groups: Sequence[Group], without: Iterable[str] = ()) -> list[str]:
    """The keys in which the groups differ, and always the workload."""
    keys = [key for key in groups[0].key if key not in without] if groups else []
    return [key for key in keys if key == "workload" or len({group.key[key] for group in groups}) > 1]


def panel(group: Group, keys: Sequence[str]) -> str:
    """The name of the group's panel in a figure: its values of `keys` in words."""
    spelled = {"batch_size": "batch {}", "threads": "{} threads", "seed": "seed {}"}
    return ", ".join(spelled.get(key, "{}").format(group.key[key]) for key in keys)


def heads(keys: Sequence[str]) -> list[str]:
    """The headings of the columns for `keys` of groups."""
    return [key.replace("_", " ") for key in keys]


def ratio(comparison: Comparison | None) -> Value:
    """How many times faster, with the interval; empty where nothing could be compared. It is marked if the two were not
    measured together, and if the interval contains 1."""
    if comparison is None:
        return Value("")
    marks: tuple[str, ...] = () if comparison.together else (APART,)
    if comparison.ratio.has_interval and not comparison.ratio.significant:
        marks += (SAME,)
    return with_interval(comparison.ratio.value, comparison.ratio.low, comparison.ratio.high, comparison.rows, marks)


def ratio_point(panel: str, x: Any, hue: str, comparison: Comparison) -> dict[str, Any]:
    """How many times faster, as a point of a figure."""
    r = comparison.ratio
    return point(panel, x, hue, r.value, r.low, r.high, " ".join(comparison.rows))


def mean_ratio(mean: Mean) -> Value:
    """A geometric mean with its interval, marked as the ratios in it are."""
    marks = ((APART,) if mean.apart else ()) + ((SAME,) if mean.has_interval and not mean.significant else ())
    return with_interval(mean.value, mean.low, mean.high, mean.rows, marks)


def latency(entry: Entry) -> Value:
    """The latency in milliseconds, with the half-width of its interval, and marked if the row has flags."""
    summary = entry.summary
    marks = (FLAGGED,) if entry.flags else ()
    return with_interval(summary.median * 1e3, summary.low * 1e3, summary.high * 1e3, (entry.ref,), marks)


def failed(entries: Sequence[Entry]) -> Value:
    """What a table shows in place of a number: the status of the last of the rows, or that there is no row."""
    if not entries:
        return Value(NOT_MEASURED)
    return Value(str(entries[-1].record["status"]), None, refs(entries))


def reasons(groups: Sequence[Group], conditions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why columns have rows but no number for a group: each reason once, with its workloads. `conditions` is from `columns`."""
    workloads: dict[str, list[str]] = {}
    for group in groups:
        for name, condition in conditions.items():
            entries = group.chosen(condition)
            if entries and not any(entry.ok for entry in entries):
                newest = entries[-1].record
                text = f"{name}: {newest['status']}: {newest['why']}"
                workloads.setdefault(text, []).append(str(group.key["workload"]))
    return [f"{text} ({', '.join(dict.fromkeys(names))})" for text, names in workloads.items()]
