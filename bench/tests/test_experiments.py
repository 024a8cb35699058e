"""Sweeps of experiments, the choice of systems and variants, and `scripts/reproduce`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from bench import config, record, registry
from bench.compose import compose, jobs, sweep
from bench.options import ConfigError
from bench.suggest import refusal

ROOT = Path(__file__).resolve().parents[2]


def test_an_experiment_brings_its_sweep_and_the_command_line_replaces_keys_of_it() -> None:
    whole = jobs(["experiment=vm"])
    assert {tuple(o for o in job if o.startswith(("size=", "batch_size="))) for job in whole} == {
        (f"size={size}", f"batch_size={batch}") for size in ("small", "large") for batch in (8, 64)
    }
    narrowed = jobs(["experiment=vm", "size=large", "workload=birnn"])
    assert [set(job) for job in narrowed] == [
        {"experiment=vm", "size=large", "workload=birnn", f"batch_size={batch}"} for batch in (8, 64)
    ]
    assert jobs(["workload=birnn"]) == [["workload=birnn"]]


def test_the_quick_extent_is_small_and_stores_nothing() -> None:
    for job in jobs(["experiment=batchsize", "extent=quick"]):
        found = compose(job)
        assert (found.size, found.batch_size, found.threads, found.measure.stored) == ("tiny", 4, 1, False)


def test_several_values_without_a_sweep_are_refused() -> None:
    with pytest.raises(ConfigError, match="several values"):
        jobs(["workload=birnn,treelstm"])


def test_every_experiment_composes_to_cells_that_differ() -> None:
    """Each file of conf/experiment names systems, a view and columns that its cells can fill."""
    names = registry.names("experiment")
    assert len(names) >= 19
    for name in names:
        text = OmegaConf.load(registry.CONF / "experiment" / f"{name}.yaml")
        if not set(text.systems) & set(registry.names("backend")):
            continue  # the project has none of its systems
        common, combinations = sweep([f"experiment={name}"])
        assert combinations and common.report["view"], name
        assert common.report.get("columns") or common.report.get("lines") or name == "ablation"
        assert common.systems and all(isinstance(system, str) for system in common.systems), name


def test_hand_batched_pytorch_is_beside_what_is_compared_or_the_text_says_why_not() -> None:
    compared = 0
    for name in registry.names("experiment"):
        experiment = OmegaConf.load(registry.CONF / "experiment" / f"{name}.yaml")
        columns = experiment.report.get("columns") or experiment.report.get("lines") or {}
        one_system = len({condition.backend for condition in columns.values()}) == 1
        if one_system and experiment.report.view not in ("comparison", "ablation"):
            continue
        compared += 1
        beside = any(condition.backend == "handbatched" for condition in columns.values())
        assert beside == ("handbatched" in experiment.systems), f"{name}: what is measured is shown"
        reason = re.search(r"Hand-batched PyTorch has no (column|bar), because \w", experiment.report.text)
        assert beside != bool(reason), f"{name}: either there is a column, or the text says why there is none"
    assert compared >= 16


def test_a_quick_command_measures_the_first_variant_of_each_system_unless_told_otherwise() -> None:
    def labels(*overrides: str) -> list[str]:
        return [record.label(cell) for cell in config.cells(compose(["backend=[dynet,jitbatch]", "measure=quick", *overrides]))]

    assert labels() == ["dynet autobatch=1", "jitbatch granularity=operator"]
    assert labels("backend.dynet.autobatch=2") == ["dynet autobatch=2", "jitbatch granularity=operator"]
    assert len(labels("backend.dynet.tables=both")) == 6 + 1
    assert len(labels("measure.variants=true")) == 3 + 3
    assert len(labels("+variants.jitbatch=[{cache: false}]")) == 1 + 3


def test_variants_are_cells_of_one_group() -> None:
    found = config.cells(
        compose(["backend=[acrobat]", "+variants.acrobat=[{codegen: vm,tables: true},{codegen: aot,tables: true}]"])
    )
    assert [c.backend.options["codegen"] for c in found] == ["vm", "aot"]
    twice = config.cells(compose(["backend=[acrobat]", "+variants.acrobat=[{tables: both},{tables: true}]"]))
    assert [c.backend.options["tables"] for c in twice] == [True, False], "the same cell twice is one"


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["systems=[nobody]"], "none of systems"),
        (["+variants.acrobt=[{codegen: vm}]"], "there is no such backend"),
        (["+variants.acrobat={codegen: vm}"], "a list of options"),
    ],
)
def test_systems_and_variants_that_cannot_be_meant_are_refused(overrides: Sequence[str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        compose(overrides)


def test_a_system_that_is_named_and_not_there_is_no_error() -> None:
    assert list(compose(["systems=[pytorch,nobody]"]).backend) == ["pytorch"]


def test_wrong_names_of_experiments_are_refused_with_the_nearest() -> None:
    assert refusal(["experiment=dynett"]) == "experiment=dynett: there is no 'dynett'; did you mean 'dynet'?"
    assert refusal(["experiment=dynet", "workload=birnn,treelstm", "extent=quick"]) is None


def reproduce(tmp_path: Path, codes: dict[str, int], *arguments: str) -> tuple[int, list[str]]:
    """Run `scripts/reproduce` with a fake Python that exits with the codes given by experiment. Returns code and calls."""
    cases = "".join(f"*experiment={name}*) exit {code} ;; " for name, code in codes.items())
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\ncase "$*" in {cases} *) exit 0 ;; esac\n')
    fake.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(fake)}
    done = subprocess.run(
        [ROOT / "scripts" / "reproduce", *arguments], capture_output=True, text=True, check=False, env=environment
    )
    asked = tmp_path / "asked"
    return done.returncode, asked.read_text().splitlines() if asked.exists() else []


def test_reproduce_measures_every_experiment_once_and_then_reports(tmp_path: Path) -> None:
    code, asked = reproduce(tmp_path, {})
    assert code == 0 and asked[-1] == "-m bench.report"
    assert sorted(line.removeprefix("-m bench experiment=") for line in asked[:-1]) == registry.names("experiment")


@pytest.mark.parametrize(
    ("codes", "code", "reported"),
    [
        ({"vm": 1}, 1, True),
        ({"vm": 3, "fair": 1}, 3, True),
        ({"vm": 5}, 5, True),
        ({"vm": 130}, 130, False),
        ({"vm": 4}, 0, True),
    ],
)
def test_reproduce_goes_on_and_tells_the_gravest(tmp_path: Path, codes: dict[str, int], code: int, reported: bool) -> None:
    found, asked = reproduce(tmp_path, codes, "vm", "fair", "results_dir=elsewhere", "measure=paper")
    assert found == code and ("-m bench.report --results elsewhere --measure paper" in asked) == reported
    assert asked[0] == "-m bench experiment=vm results_dir=elsewhere measure=paper"


def test_reproduce_has_a_budget_and_refuses_in_a_line(tmp_path: Path) -> None:
    code, asked = reproduce(tmp_path, {}, "--budget", "2h", "vm")
    assert code == 0 and asked[0].startswith("-m bench experiment=vm limit.wall_s=7")
    for wrong in (["--budget", "soon"], ["nothing"], ["--fast"]):
        assert reproduce(tmp_path, {}, *wrong) == (2, asked), "nothing more was asked of Python"
    assert reproduce(tmp_path, {}, "--quick", "vm")[1][-1] == "-m bench experiment=vm extent=quick", (
        "no report of what is not kept"
    )
