"""Several cells measured from Python by `bench.run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import bench
from bench.api import cells
from bench.campaign import Row
from bench.measured import Measured
from bench.report.tests import synthetic
from bench.report.tests.test_entries import cell as made_up
from bench.tests.conftest import QUICK, STRICT, cell


def test_cells_that_share_instances_are_measured_in_one_session(tmp_path: Path) -> None:
    chosen = [cell(), cell("Raises"), cell(batch_size=2), cell()]
    found = bench.run(chosen, QUICK, STRICT, tmp_path)
    assert isinstance(found, Measured) and len(found) == 3, "one cell given twice is one cell"
    assert [c.batch_size for c in found.cells] == [4, 4, 2]
    first, second, third = found
    assert first["session"] == second["session"] != third["session"]
    assert isinstance(found.frame, pd.DataFrame) and list(found.frame["status"]) == ["ok", "failed", "ok"]
    assert found.frame["latency_ms"].notna().tolist() == [True, False, True]
    assert "latency ms, steady" in repr(found) and "failed" in repr(found)
    assert found._repr_html_().count("<table") == 2


def test_no_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="no cell"):
        bench.run([])


def test_ratios_are_made_within_a_group() -> None:
    slow, quick = made_up("a"), made_up("b")
    group = [Row(slow, synthetic.row(slow, 10.0)), Row(quick, synthetic.row(quick, 5.0))]
    found = Measured([group])
    (line,) = found.ratios("a").to_dict("records")
    assert line["label"] == "b" and line["ratio"] == pytest.approx(2.0, rel=0.02) and line["verdict"] == "faster"
    assert line["low"] < line["ratio"] < line["high"] and line["workload"] == "treelstm"
    with pytest.raises(ValueError, match="measured: a, b"):
        found.ratios("c")


def test_a_cell_that_failed_is_told_with_its_reason() -> None:
    failed = made_up("a")
    html = Measured([[Row(failed, synthetic.row(failed, status="oom") | {"why": "<no memory>"})]])._repr_html_()
    assert "&lt;no memory&gt;" in html


def test_the_cells_of_an_experiment_are_those_of_its_sweep() -> None:
    found = cells("experiment=vm", "workload=treelstm,birnn", "size=small")
    assert {(c.workload.name, c.batch_size, c.backend.options["codegen"]) for c in found} == {
        (workload, batch, codegen) for workload in ("treelstm", "birnn") for batch in (8, 64) for codegen in ("vm", "aot")
    }
    assert len({c.id for c in found}) == 8 and found[0] != replace(found[0], size="large")
