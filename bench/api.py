"""The harness from Python: `bench.run(bench.cells("workload=treelstm", "size=tiny"))`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

from bench import config, machine
from bench import lock as locks
from bench.campaign import Row, keep, open_store
from bench.cell import Cell
from bench.compose import compose, jobs
from bench.measure import CellGroup
from bench.measured import Measured
from bench.options import ConfigError
from bench.store import Record, Store
from bench.validate import check, named_processors


def cells(*overrides: str) -> list[Cell]:
    """The cells that `python -m bench <overrides>` measures; for an experiment, those of all jobs of its sweep."""
    swept = jobs(overrides)
    return config.cells(compose(swept[0])) if len(swept) == 1 else [c for job in swept for c in config.cells(compose(job))]


@overload
def run(
    what: Cell,
    measure: config.Measure | None = None,
    isolate: config.Isolate | None = None,
    results: str | Path | None = None,
    stored: bool = False,
    lock: str = "wait",
) -> Record: ...
@overload
def run(
    what: Sequence[Cell],
    measure: config.Measure | None = None,
    isolate: config.Isolate | None = None,
    results: str | Path | None = None,
    stored: bool = False,
    lock: str = "wait",
) -> Measured: ...
def run(
    what: Cell | Sequence[Cell],
    measure: config.Measure | None = None,
    isolate: config.Isolate | None = None,
    results: str | Path | None = None,
    stored: bool = False,
    lock: str = "wait",
) -> Record | Measured:
    """Measure cells now, also those with rows. One cell gives its row. Several give a `Measured` (`.frame` is its table in
    pandas, `.ratios("dynet")` how many times faster each is); those on the same instances take turns in one session.

    `measure`: the settings, by default those of the file in `conf/measure` that a cell names; each row names the settings it
    was measured under. `stored`: append the rows to the results; where one cannot be written, the reason is printed. `results`:
    the folder for rows and logs, by default `results` if `stored`, else a temporary one. `lock`: what to do while another
    campaign measures on this machine, one of `config.LOCKS`. Raises `ConfigError` where the settings of a cell are in no file
    or out of range, where rows cannot be stored, or where the machine is busy and `lock` is "refuse", and ValueError where
    there is no cell."""
    chosen = [what] if isinstance(what, Cell) else list(what)
    if not chosen:
        raise ValueError("there is no cell to measure")
    config.choice("lock", lock, config.LOCKS)
    settings = [(measure or config.preset(cell.measure)).named() for cell in chosen]
    for each in settings:
        check(each, "measure")
    limits = isolate or config.Isolate()
    limits.cpus = named_processors(limits.cpus)
    check(limits, "isolate")
    chosen = [replace(c, measure=s.name, minibatches=s.minibatches) for c, s in zip(chosen, settings, strict=True)]
    folder = results or ("results" if stored else _temporary())
    store = Store(Path(folder).resolve(), machine.name())
    if stored:
        open_store(store, folder)
    rows: dict[str, Record] = {}

    def done(cell: Cell, row: Record) -> None:
        if stored and not row["emulated"]:
            keep(store, cell, row)
        rows[cell.id] = row

    groups: dict[str, dict[str, Cell]] = {}
    for cell in chosen:
        groups.setdefault(_instances(cell), {}).setdefault(cell.id, cell)
    by_name = {s.name: s for s in settings}
    try:
        with locks.machine(lock, lambda text: print(text, file=sys.stderr)):
            for group in groups.values():
                own = by_name[next(iter(group.values())).measure]
                CellGroup([*group.values()], own, limits, store.results, lambda *_: None, done).run()
    except locks.Busy as busy:
        raise ConfigError(str(busy)) from busy
    if isinstance(what, Cell):
        return rows[chosen[0].id]
    return Measured([[Row(cell, rows[cell.id]) for cell in group.values()] for group in groups.values()])


def _temporary() -> str:
    try:
        return tempfile.mkdtemp(prefix="bench-")
    except OSError as error:
        raise ConfigError(f"there is no room for logs in a temporary folder ({error}); give a folder as `results`") from error


def _instances(cell: Cell) -> str:
    """A key that is the same for cells on the same instances: all of the configuration but the backend and its options."""
    return repr({key: value for key, value in cell.canonical().items() if key not in ("backend", "options")})
