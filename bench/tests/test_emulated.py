"""Cells on an emulated device: they are run and verified as all others, and their rows are never stored."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from backends.acrobat.runtime.cuda.tests.emulated import VARIABLE, library
from bench import api, machine, table
from bench.campaign import Campaign
from bench.config import Isolate
from bench.prepare import EMULATED
from bench.status import Exit
from bench.store import Store
from bench.tests.conftest import FAKES, QUICK
from bench.tests.test_campaign import config


def test_a_row_of_an_emulated_device_is_shown_and_not_kept(tmp_path: Path) -> None:
    both = {"honest": {"_target_": f"{FAKES}.Honest"}, "emulated": {"_target_": f"{FAKES}.Emulated"}}
    running = Campaign()
    rows = {row.cell.backend.name: row for row in running.run(config(tmp_path, backend=both))}
    assert {row.record["status"] for row in rows.values()} == {"ok"} and running.exit() == Exit.OK
    assert EMULATED in rows["emulated"].record["flags"] and EMULATED not in rows["honest"].record["flags"]
    assert [row["backend"] for row in Store(tmp_path, machine.name())] == ["honest"]
    assert "1 on an emulated device, of which nothing is kept" in running.summary()
    console = Console(file=io.StringIO(), width=200)
    table.show(list(rows.values()), console)
    assert f"emulated: {EMULATED}" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_store_refuses_such_a_row(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="emulated device"):
        Store(tmp_path, "machine").append({"id": "a", "emulated": True})
    assert not Store(tmp_path, "machine").path.exists()


def test_acrobat_for_cuda_is_measured_and_verified_on_the_emulated_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell goes through the whole harness: configuration, a child process, the oracle, turns, unseen mini-batches."""
    monkeypatch.setenv(VARIABLE, str(library()))
    asked = ("workload=treelstm", "backend=acrobat", "backend.acrobat.tables=true", "device=cuda", "size=tiny", "batch_size=2")
    measured = api.run(api.cells(*asked), QUICK, Isolate(deadline_s=300.0), tmp_path, stored=True)
    (row,) = measured.rows
    assert row["status"] == "ok", row["why"]
    assert row["emulated"] and row["verified"]["n"] == 2 * QUICK.minibatches and row["fresh"]["verified"] > 0
    assert row["counters"]["device_launches"] == row["counters"]["executions"] == 1
    assert Store(tmp_path, machine.name()).path.read_bytes() == b""  # it was opened before measuring, and no row was kept
