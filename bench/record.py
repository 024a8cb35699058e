"""One row of the results."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bench import environment, machine
from bench.cell import Cell
from bench.registry import parameters, resolve
from bench.store import Record


def begin(cell: Cell) -> Record:
    """What is known before anything has run."""
    return {
        "id": cell.id,
        "source": cell.source,
        "status": None,
        "why": None,
        **cell.canonical(),
        "machine": machine.name(),
        "environment": machine.environment()[0],
        "commit": machine.commit(),
        "tuning_variables": environment.performance(cell.threads, cell.env),
        "session": None,
        "measure_settings": {},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "cold": {},
        "samples_s": [],
        "sample_minibatch": [],
        "sample_round": [],
        "sample_pass": [],
        "stop": None,
        "breakdown": {},
        "counters": {},
        "memory": {},
        "ran": {},
        "energy_j": None,
        "clocks": {},
        "verified": {"n": 0},
        "flags": [],
        "log": None,
    }


def title(cell: Cell, with_backend: bool = True) -> str:
    """A cell in a few words."""
    options = ", ".join(f"{k}={v}" for k, v in cell.workload.canonical_options().items() if v is not None)
    threads = "1 thread" if cell.threads == 1 else f"{cell.threads} threads"
    text = f"{cell.workload.name} {cell.size}, batch {cell.batch_size}, {threads}, {cell.device}, seed {cell.seed}"
    text += f" ({options})" if options else ""
    return f"{label(cell)}: {text}" if with_backend else text


def label(cell: Cell) -> str:
    """The backend and those of its options that are not as usual."""
    usual = default_options(cell)
    changed = [f"{k}={v}" for k, v in cell.backend.options.items() if usual.get(k) != v]
    return " ".join([cell.backend.name, *changed])


def default_options(cell: Cell) -> dict[str, Any]:
    try:
        return {name: p.default for name, p in parameters(resolve(cell.backend.target)).items()}
    except ImportError:
        return dict(cell.backend.options)
