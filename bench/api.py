"""The harness from Python: `bench.run(cell)`, and `bench.cells("workload=treelstm", "size=tiny")`."""

from __future__ import annotations

from pathlib import Path

from bench import config, machine
from bench.cell import Cell
from bench.compose import compose
from bench.measure import Group
from bench.store import Record, Store


def cells(*overrides: str) -> list[Cell]:
    """The cells that `python -m bench <overrides>` measures."""
    return config.cells(compose(overrides))


def run(
    cell: Cell,
    measure: config.Measure | None = None,
    isolate: config.Isolate | None = None,
    results: str | Path = "results",
    stored: bool = False,
) -> Record:
    """Measure one cell now, and return its row; with `stored` it also goes to the results."""
    rows: list[Record] = []
    store = Store(Path(results).resolve(), machine.name())

    def done(_: Cell, row: Record) -> None:
        if stored:
            store.describe_machine(machine.hardware(), *machine.environment())
            store.append(row)
        rows.append(row)

    Group([cell], measure or config.Measure(), isolate or config.Isolate(), store.results, lambda *_: None, done).run()
    return rows[0]
