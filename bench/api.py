"""The harness from Python: `bench.run(cell)`, and `bench.cells("workload=treelstm", "size=tiny")`."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import config, machine
from bench import lock as locks
from bench.cell import Cell
from bench.compose import compose
from bench.measure import Group
from bench.registry import ConfigError
from bench.store import Record, Store


def cells(*overrides: str) -> list[Cell]:
    """The cells that `python -m bench <overrides>` measures."""
    return config.cells(compose(overrides))


def run(
    cell: Cell,
    measure: config.Measure | None = None,
    isolate: config.Isolate | None = None,
    results: str | Path | None = None,
    stored: bool = False,
    lock: str = "wait",
) -> Record:
    """Measure one cell now, and return its row; with `stored` it also goes to the results.

    `measure`: the settings, by default those of the file in `conf/measure` that the cell names. The row names the settings
    that were used. `results`: the folder for rows and logs, by default `results` if `stored`, else a temporary one, because
    the log is needed when something has gone wrong. `lock`: what to do where others are measuring on this machine, as on the
    command line. Raises `ConfigError` where the cell's settings are in no file, or the machine is not free and `lock` refuses
    to wait."""
    measure = (measure or config.preset(cell.measure)).named()
    cell = replace(cell, measure=measure.name, minibatches=measure.minibatches)
    rows: list[Record] = []
    folder = results or ("results" if stored else tempfile.mkdtemp(prefix="bench-"))
    store = Store(Path(folder).resolve(), machine.name())

    def done(_: Cell, row: Record) -> None:
        if stored:
            store.describe_machine(machine.hardware(), *machine.environment())
            store.append(row)
        rows.append(row)

    group = Group([cell], measure, isolate or config.Isolate(), store.results, lambda *_: None, done)
    try:
        with locks.machine(lock, lambda text: print(text, file=sys.stderr)):
            group.run()
    except locks.Busy as busy:
        raise ConfigError(str(busy)) from busy
    return rows[0]
