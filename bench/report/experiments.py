"""The experiments of `conf/experiment`: which cells each consists of, and which stored rows are shown for them.

The sweep of an experiment gives groups, one for each combination of workload, size, batch size and so on; the cells of a group
share their instances and are measured in one session. For a group the report uses the session that has finished most of its
cells (of several, the newest). A cell that this session lacks is taken from another one, and its ratios are marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from bench import config, registry
from bench.cell import Cell
from bench.compose import compose, sweep
from bench.config import Config
from bench.options import ConfigError
from bench.report.entries import Entry, Results, identity
from bench.status import Status

PLAIN = ("size", "batch_size", "threads", "device", "seed")
"""Keys of a sweep whose values can be put into a composed configuration; others need composing anew, which is slow."""


@dataclass(frozen=True)
class ShownCell:
    """A cell of an experiment, and the row that is shown for it, if there is one."""

    cell: Cell
    entry: Entry | None


@dataclass
class Group:
    """The cells of one combination of a sweep."""

    command: str  # the command that measures them, in one session
    key: Mapping[str, Any]  # workload, size, batch_size, threads, device
    cells: list[ShownCell]

    @property
    def entries(self) -> list[Entry]:
        return [each.entry for each in self.cells if each.entry is not None]

    @property
    def missing(self) -> list[Cell]:
        """The cells without a row."""
        return [each.cell for each in self.cells if each.entry is None]

    def chosen(self, condition: Mapping[str, Any]) -> list[Entry]:
        """The rows that fit `condition`, whose keys are `backend`, `instruction_set`, `load_time` (false for rows that do all
        their work inside the clock) and names of options. A value may be a list, of which one element has to fit."""
        return [entry for entry in self.entries if matches(entry, condition)]


@dataclass
class Experiment:
    """A file of `conf/experiment` with the rows that are shown for it."""

    name: str
    report: Mapping[str, Any]  # the section `report` of its YAML
    systems: list[str] | None  # the systems that its YAML names
    groups: list[Group] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # the systems and workloads in its YAML that the project does not have
    refused: str | None = None  # why it cannot be composed
    overrides: Sequence[str] = ()  # settings that take the place of those in its YAML, as in `size=tiny`

    @property
    def title(self) -> str:
        return str(self.report.get("title", self.name))

    @property
    def command(self) -> str:
        return " ".join([f"python -m bench experiment={self.name}", *self.overrides])

    @property
    def order(self) -> float:
        return float(self.report.get("order", 1000))


def matches(entry: Entry, condition: Mapping[str, Any]) -> bool:
    """Whether a row has the values of `condition`: of backend, load time and instruction set, and of options by name. A list
    allows any of its values."""
    for key, allowed in condition.items():
        if key == "backend":
            value: Any = entry.backend
        elif key == "load_time":
            value = bool(entry.load_time)
        elif key == "instruction_set":
            value = entry.instruction_set
        else:
            value = entry.options.get(key)
        if value not in allowed if isinstance(allowed, list) else value != allowed:
            return False
    return True


def read(
    results: Results, measure: str = "default", names: Sequence[str] | None = None, overrides: Sequence[str] = ()
) -> list[Experiment]:
    """All experiments, or those in `names`, with their rows, in the order of the report. `measure`: the name of the settings
    whose rows are used. `overrides`: settings that take the place of those in the experiments, as in `size=tiny`.
    `threads: all` means the number of threads of the machine that the results are from."""
    processors = results.machine.get("hardware", {}).get("usable_threads")
    experiments = [_experiment(name, results, measure, processors, overrides) for name in names or registry.names("experiment")]
    return sorted(experiments, key=lambda each: (each.order, each.name))


def _experiment(name: str, results: Results, measure: str, processors: int | None, overrides: Sequence[str] = ()) -> Experiment:
    arguments = [f"experiment={name}", f"measure={measure.removesuffix('*')}", *overrides]
    try:
        composed, combinations = sweep(arguments)
    except Exception as error:  # of any of Hydra's many types; the report names the reason
        text: Any = OmegaConf.to_container(OmegaConf.load(registry.CONF / "experiment" / f"{name}.yaml"))
        reason = str(error).strip().splitlines()[0]
        return Experiment(name, text.get("report") or {}, text.get("systems"), refused=reason, overrides=overrides)
    experiment = Experiment(name, composed.report or {}, composed.systems, overrides=overrides)
    experiment.absent = absent(composed, combinations)
    for overrides in combinations:
        try:
            experiment.groups.append(_group(name, composed, overrides, results, processors))
        except ConfigError as error:  # such as an option that a system does not have, or more threads than the machine has
            experiment.refused = str(error)
    return experiment


def absent(composed: Config, combinations: Sequence[Sequence[str]]) -> list[str]:
    """The systems and workloads that an experiment names and that the project does not have."""
    systems = [name for name in composed.systems or () if name not in registry.names("backend")]
    swept = {override.partition("=")[2] for job in combinations for override in job if override.startswith("workload=")}
    workloads = (composed.report or {}).get("workloads") or ()
    return systems + [name for name in workloads if name not in swept and name not in registry.names("workload")]


def _group(name: str, composed: Config, overrides: Sequence[str], results: Results, processors: int | None) -> Group:
    settings = dict(override.split("=", 1) for override in overrides)
    swept = {key: value for key, value in settings.items() if key not in ("experiment", "measure")}
    if set(swept) <= {*PLAIN, "workload"}:
        own = replace(composed, **{key: _plain(value) for key, value in swept.items() if key in PLAIN})
        if "workload" in swept:
            own.workload = _workload(swept["workload"])
    else:
        own = compose(overrides)
    cells = config.cells(own, processors)
    command = " ".join(["python -m bench", f"experiment={name}", *(f"{key}={value}" for key, value in swept.items())])
    first = cells[0]
    key = {"workload": first.workload.name, **{k: getattr(first, k) for k in PLAIN}}
    return Group(command, key, together(cells, results))


def together(cells: Sequence[Cell], results: Results) -> list[ShownCell]:
    """For each cell its row of the session that has finished most cells, or else its newest row, preferably a verified one."""
    candidates = {cell.id: results.by_identity.get(identity(cell.canonical()), []) for cell in cells}
    counts: dict[str, tuple[int, str]] = {}
    for rows in candidates.values():
        for entry in {e.session: e for e in rows if e.session is not None and e.ok}.values():
            count, started = counts.get(str(entry.session), (0, ""))
            counts[str(entry.session)] = (count + 1, max(started, str(entry.record["started"])))
    best = max(counts, key=lambda session: counts[session]) if counts else None
    shown = []
    for cell in cells:
        rows = candidates[cell.id]
        inside = [entry for entry in rows if entry.session == best and best is not None]
        verified = [e for e in rows if e.record["status"] != Status.UNVERIFIED]
        fitting = inside or verified or rows
        shown.append(ShownCell(cell, fitting[-1] if fitting else None))
    return shown


def _plain(value: str) -> Any:
    return int(value) if value.isdigit() else value


@cache
def _workload(name: str) -> Any:
    return OmegaConf.to_container(OmegaConf.load(registry.CONF / "workload" / f"{name}.yaml"))
