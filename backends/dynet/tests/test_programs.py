"""Compares the programs, under every autobatching strategy, with the model source in float64."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from backends.dynet.tests.cases import TABLES, cases
from bench import facts
from bench.outputs import flatten
from bench.verify import Difference
from workloads.tests.cases import expected
from workloads.tests.conftest import NAMES

pytestmark = pytest.mark.skipif(find_spec("_dynet") is None, reason="DyNet is not installed")

CASES = cases()
ROOT = Path(__file__).resolve().parents[3]


@cache
def results(autobatch: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        cases_file, results_file = Path(folder, "cases"), Path(folder, "results")
        cases_file.write_bytes(pickle.dumps(CASES))
        command = [sys.executable, "-m", "backends.dynet.tests.child", str(autobatch), str(cases_file), str(results_file)]
        child = subprocess.run([*command, "--dynet-gpus", "3", "--dynet-mem", "1"], cwd=ROOT, capture_output=True, text=True)
        assert child.returncode == 0, f"ended with {child.returncode}\n{child.stdout[-2000:]}\n{child.stderr[-4000:]}"
        loaded_results: dict[str, Any] = pickle.loads(results_file.read_bytes())
        return loaded_results


@pytest.mark.parametrize("autobatch", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].instances])
def test_outputs_are_right(name: str, autobatch: int) -> None:
    result = results(autobatch)[name]
    if "unsupported" in result:
        assert CASES[name].formulation == "naive" or CASES[name].workload in ("mvrnn", "nestedrnn", "dagrnn", "lattice")
        assert autobatch == 3
        pytest.skip(result["unsupported"])
    for outputs in (result["outputs"], result["again"], result["first"]):
        expected(CASES[name].answers).check(flatten(outputs), Difference())
    assert result["unchanged"]


@pytest.mark.parametrize("autobatch", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_an_empty_minibatch(name: str, autobatch: int) -> None:
    assert results(autobatch)[f"{name}, none"]["outputs"] == []


@pytest.mark.parametrize("autobatch", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_batches_are_counted(name: str, autobatch: int) -> None:
    result = results(autobatch)[name]
    if "unsupported" in result:
        pytest.skip(result["unsupported"])
    counters = result["counters"]
    assert 0 < counters["batches"] < counters["nodes"]
    assert counters["mean_batch_width"] == pytest.approx(counters["nodes"] / counters["batches"])
    assert "one node per parameter" in counters["unbatched"]["parameters"]
    assert counters["schedule_ms"] + counters["kernel_ms"] == pytest.approx(counters["forward_ms"])
    assert counters["renew_ms"] + counters["build_ms"] == pytest.approx(counters["construct_ms"])
    assert all(np.isfinite(value) and value >= 0 for key, value in counters.items() if key.endswith("_ms"))


def test_what_cannot_batch_says_so() -> None:
    assert "one shared left operand" in results(1)["mvrnn"]["counters"]["unbatched"]["a * a"]
    assert "never batches" in results(1)["berxit"]["counters"]["unbatched"]["colwise_add(a, a)"]


@pytest.mark.parametrize("autobatch", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_naive_formulations_take_more_batches(name: str, autobatch: int) -> None:
    best, naive = (results(autobatch)[case]["counters"] for case in (name, f"{name}, naive"))
    assert naive["batches"] > best["batches"]


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("treelstm", "constant({16},0)"),
        ("simtree", "constant({16},0)"),
        ("treegru", "constant({16},1)"),
        ("birnn", "argmax(a)_{{7}}"),
        ("berxit", "moment_dim(expression=a,{0}), order=1"),
        ("berxit", "a / a"),
    ],
)
def test_what_the_naive_formulations_have_that_is_never_batched(name: str, operator: str) -> None:
    assert "never batches" in results(1)[f"{name}, naive"]["counters"]["unbatched"][operator]
    assert operator not in results(1)[name]["counters"]["unbatched"]


def test_instances_that_read_values_by_themselves_take_batches_of_their_own() -> None:
    """Four equal instances take four times the batches of one when naive, and about the batches of one when best."""
    for name in ("drnn", "nestedrnn", "stackrnn"):
        together, alone = (results(1)[f"{name}, {case}, naive"]["counters"] for case in ("all equal", "one"))
        parameters = int(alone["unbatched"]["parameters"].split()[0])
        assert together["batches"] - parameters > 3 * (alone["batches"] - parameters)
        together, alone = (results(1)[f"{name}, {case}"]["counters"] for case in ("all equal", "one"))
        assert together["batches"] < 1.5 * alone["batches"]


def test_without_autobatching_every_node_is_a_batch() -> None:
    counters = results(0)["treelstm"]["counters"]
    assert counters["batches"] == counters["nodes"] > 100
    assert counters["mean_batch_width"] == 1


def test_siblings_and_instances_batch() -> None:
    """The work of siblings and of instances side by side is batched, so batches are wide on average."""
    for name in ("drnn", "stackrnn", "nestedrnn"):
        assert results(1)[name]["counters"]["mean_batch_width"] > 2.5


def test_settings_hold_for_the_process() -> None:
    assert "cannot be started again" in results(1)["started twice"]


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_a_fact_where_they_were_made(name: str) -> None:
    assert results(1)[name]["facts"]["load_time"] == ""
    if name in TABLES:
        assert results(1)[f"{name}, tables"]["facts"]["load_time"] == "tables"


@pytest.mark.parametrize("name", TABLES)
def test_tables_take_the_place_of_products(name: str) -> None:
    with_tables, without = (results(1)[case]["counters"]["unbatched"] for case in (f"{name}, tables", name))
    assert with_tables["parameters"] == without["parameters"]  # the weights are still there, for the states
    assert results(1)[f"{name}, tables"]["counters"]["nodes"] != results(1)[name]["counters"]["nodes"]


def test_facts_name_the_build_and_its_one_thread() -> None:
    """DyNet says one thread although the test allows two."""
    validated = facts.validated_facts(results(1)["treelstm"]["facts"])
    assert validated["threads"] == 1
    assert validated["library"].startswith("Eigen in dyNET38 ")
    assert validated["instruction_set"] == "avx2"
