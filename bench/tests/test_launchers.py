"""Sweeps whose jobs run in other processes: their rows are in the results and in the tables, and count for the exit code."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from bench.campaign import Row
from bench.job import SWEEP, Merge, Outcome, Sweep
from bench.job import _read as read_outcome
from bench.status import Exit
from bench.tests.conftest import cell


def test_the_outcome_of_a_job_is_plain_text(tmp_path: Path) -> None:
    """What a job in another process writes can be read without running any code that others put into the folder."""
    outcome = Outcome(
        [Row(cell(), {"status": "ok", "samples_s": [0.5]}, changed=["torch 1 -> 2"])], unkept=1, refused="seed=-1"
    )
    path = tmp_path / "a.outcome"
    path.write_text(json.dumps(asdict(outcome)))
    assert read_outcome(path) == outcome


@pytest.mark.parametrize("written", ["{", "[]", "{}", '{"rows": [{}]}', '{"rows": [], "more": 1}', '{"rows": [3]}'])
def test_an_outcome_that_cannot_be_read_is_no_success(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = Sweep()
    monkeypatch.setattr("bench.job.SWEEPING", sweep)
    monkeypatch.setenv(SWEEP, f"abc:{os.getpid()}")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "abc-1.outcome").write_text(written)
    Merge().on_multirun_end(OmegaConf.create({"results_dir": str(tmp_path)}))
    assert len(sweep.crashed) == 1 and "abc-1.outcome" in capsys.readouterr().err
    assert not list((tmp_path / "logs").iterdir())


LAUNCHERS = {
    "joblib": ("hydra_plugins.hydra_joblib_launcher", ("hydra.launcher.n_jobs=2",)),
    "submitit_local": ("hydra_plugins.hydra_submitit_launcher", ("hydra.launcher.timeout_min=10",)),
    "ray": ("hydra_plugins.hydra_ray_launcher", ()),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_jobs_in_other_processes(launcher: str, command: Callable[..., list[str]], tmp_path: Path) -> None:
    """Three jobs are measured, two of which have a cell that fails, and three are refused because of their seed."""
    module, settings = LAUNCHERS[launcher]
    pytest.importorskip(module, reason=f"pip install -e .[{launcher.partition('_')[0]}] for hydra/launcher={launcher}")
    overrides = ("backend=[honest,cheat]", "backend.cheat.how=Raises,Applied,Nonsense", "measure=quick", "measure.stored=true")
    arguments = command("-m", f"hydra/launcher={launcher}", *settings, *overrides, "measure.budget_s=0.05", "seed=0,-1")
    arguments[arguments.index("lock=ignore")] = "lock=wait"
    private = {**os.environ, "BENCH_LOCK": str(tmp_path / "lock")}
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=private)
    assert done.returncode == Exit.CONFIG, done.stderr[-3000:]
    (path,) = tmp_path.glob("results/*/cells.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = sorted((row["backend"], row["options"].get("how", ""), row["status"]) for row in rows)
    cheats = [("cheat", "Applied", "ok"), ("cheat", "Nonsense", "failed"), ("cheat", "Raises", "failed")]
    assert [each for each in found if each[0] == "cheat"] == cheats
    assert {each for each in found if each[0] == "honest"} == {("honest", "", "ok")}
    assert done.stdout.count("latency ms, steady") >= 3, "the tables are shown where the command was given"
    assert "2 failed" in done.stderr
    assert not list(tmp_path.glob("results/logs/*.outcome"))
