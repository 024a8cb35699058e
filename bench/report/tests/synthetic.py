"""Makes up rows like those that the harness writes, for tests that need results and must not measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.cell import Cell
from bench.report import experiments
from bench.report.entries import Entry, Results
from bench.store import Record

SPEED = {"pytorch": 90.0, "dynet": 25.0, "acrobat": 5.0}
MACHINE = {"hardware": {"cpu": "Made up 1", "usable_threads": 2, "flags": "avx2 fma"}, "environments": {}}
PHASES = {"ingest": 0.02, "construct": 0.1, "schedule": 0.08, "kernel": 0.7, "fetch": 0.05}


def row(
    cell: Cell,
    latency_ms: float = 10.0,
    session: str | None = "s1",
    rounds: int = 8,
    minibatches: int = 2,
    noise: float = 0.01,
    seed: int = 0,
    status: str = "ok",
    **changed: Any,
) -> Record:
    """A row of `cell`, whose mini-batches take about `latency_ms`. Rows of one `seed` share the noise of each round."""
    ok = status == "ok"
    samples = _samples(cell, latency_ms, rounds if ok else 0, minibatches, noise, seed)
    made: Record = {
        "id": cell.id,
        "source": "made-up",
        "status": status,
        "why": None if ok else f"made up: {status}",
        **cell.canonical(),
        "machine": "made-up",
        "environment": "e0",
        "commit": "0123456789ab",
        "software": {"python": "3.11"},
        "again": False,
        "limits": {"deadline_s": 1.0, "memory_bytes": 1},
        "session": session,
        "measure_settings": {"minibatches": minibatches},
        "started": f"2026-01-0{1 + seed % 9}T00:00:00+00:00",
        "cold": {"load_s": 1.5, "compile_s": 2.0, "first_s": 0.01, "place_s": 0.0} if ok else {},
        **samples,
        "stop": "interval" if ok else None,
        "breakdown": {phase: share * latency_ms for phase, share in PHASES.items()}
        if ok and cell.backend.name != "pytorch"
        else {},
        "counters": {
            "nodes": 2400.0,
            "batches": 20.0,
            "launches": 25.0,
            "mean_batch_width": 120.0,
            "product_flops": 1.2e9,
            "waits": 0.0,
        },
        "memory": {"peak_rss_bytes": 4e8} if ok else {},
        "ran": {
            "instruction_set": "avx2",
            "threads": 1,
            "load_time": "tables" if cell.backend.options.get("tables") is True else "",
        },
        "energy_j": None,
        "clocks": {},
        "verified": {"n": 128, "max_abs": 1e-6, "max_rel": 1e-6} if ok else {"n": 0},
        "flags": [],
        "log": None,
    }
    return made | changed


def _samples(cell: Cell, latency_ms: float, rounds: int, minibatches: int, noise: float, seed: int) -> Record:
    """The samples of a row, and for each its mini-batch, round and pass: two passes in each round, the first slower."""
    common = 1 + noise * np.random.default_rng(seed).standard_normal(rounds)
    own = np.random.default_rng([seed, int(cell.id, 16) % 2**32])
    made: Record = {"samples_s": [], "sample_minibatch": [], "sample_round": [], "sample_pass": []}
    for r in range(rounds):
        for p in range(2):
            for m in range(minibatches):
                value = latency_ms / 1e3 * (1 + 0.1 * m) / (1 + 0.05 * (minibatches - 1)) * common[r]
                made["samples_s"].append(float(value * (1 + noise / 4 * own.standard_normal())) * (1.3 if p == 0 else 1.0))
                made["sample_minibatch"].append(m)
                made["sample_round"].append(r)
                made["sample_pass"].append(p)
    return made


def everything(
    names: Sequence[str] | None = None, keep: Callable[[Cell], bool] = lambda _: True
) -> tuple[Results, list[Record]]:
    """Results with a session for every group of the experiments (those in `names`, if given), and their rows. A group has the
    cells for which `keep` is true. Systems are about as fast as `SPEED` says."""
    records: dict[str, Record] = {}
    empty = Results(Path("made-up"), machine=MACHINE)
    for experiment in experiments.read(empty, names=names):
        for i, group in enumerate(experiment.groups):
            for k, cell in enumerate(each.cell for each in group.cells if keep(each.cell)):
                session = f"{experiment.name}{i}"
                record = row(
                    cell, latency(cell, k), session, seed=i, ran=ran(cell), peak={"gflops": 200.0, "accumulators": "registers"}
                )
                records[f"{record['id']}:{session}"] = record
    results = Results(Path("made-up"), [Entry(record) for record in records.values()], machine=MACHINE)
    return results, list(records.values())


def latency(cell: Cell, k: int) -> float:
    """A latency in milliseconds: it grows with the batch, falls with threads and tuning, differs by workload and variant."""
    width = {"tiny": 0.1, "small": 1.0, "large": 3.5}[cell.size]
    workload = 0.5 + (sum(map(ord, cell.workload.name)) % 7) / 4
    options = cell.backend.options
    tuned = 1 / (1 + np.log1p(options.get("tune") or 0) / 25) if isinstance(options.get("tune"), int) else 1.0
    off = sum(value is False for value in options.values())
    batch = cell.batch_size / 64 if cell.backend.name == "pytorch" else 0.15 + 0.85 * cell.batch_size / 64
    return float(
        SPEED.get(cell.backend.name, 12.0)
        * width
        * workload
        * batch
        * tuned
        * (1 + 0.12 * off)
        * (1 + 0.03 * k)
        / cell.threads**0.7
    )


def ran(cell: Cell) -> dict[str, Any]:
    told: dict[str, Any] = {"instruction_set": "avx2", "threads": 1, "library": "made up"}
    told["load_time"] = "tables" if cell.backend.options.get("tables") is True else ""
    if cell.backend.name == "acrobat":
        told["properties"] = {"recursive": True, "phases": 2, "depth": 11, "width_of_one": 20}
        told["properties"] |= {"width_median": 64, "width_most": 1200}
    return told


def write(folder: Path, records: Iterable[Mapping[str, Any]], machine: Mapping[str, Any] = MACHINE) -> Path:
    """Write a folder of results with these rows, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cells.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "machine.json").write_text(json.dumps(machine))
    return folder
