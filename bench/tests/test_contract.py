"""The contract: every backend on every workload, at the size for tests, on the CPU, measured and verified as in earnest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import api, registry
from bench.config import Isolate
from bench.status import Status
from bench.tests.conftest import QUICK

BACKENDS = registry.names("backend")
WORKLOADS = registry.names("workload")


def test_there_is_something_to_test() -> None:
    assert "pytorch" in BACKENDS
    assert "treelstm" in WORKLOADS


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_contract(backend: str, workload: str, tmp_path: Path) -> None:
    found = api.cells(f"workload={workload}", f"backend=[{backend}]", "size=tiny", "batch_size=5", "measure=quick", "seed=3")
    for cell in found:
        row = api.run(replace(cell, minibatches=3), QUICK, Isolate(deadline_s=600.0), tmp_path)
        if row["status"] in (Status.UNSUPPORTED, Status.UNAVAILABLE):
            pytest.skip(f"{row['status']}: {row['why']}")
        assert row["status"] == Status.OK, f"{row['why']}\n{(tmp_path / row['log']).read_text()[-4000:]}"
        assert row["verified"]["n"] == 15
        assert len(set(row["sample_round"])) >= QUICK.min_rounds
