"""The campaign: storing rows, interruptions, and what makes a row stale."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import campaign, machine, memory, software
from bench.campaign import Campaign
from bench.cell import Part
from bench.config import Config, Isolate, Measure
from bench.measure import CellGroup
from bench.options import ConfigError
from bench.status import Exit
from bench.store import Store
from bench.template import Template
from bench.tests.conftest import FAKES, cell

SHORT = Measure(
    name="short", minibatches=2, turn_s=0.001, timed_passes=2, min_rounds=2, max_rounds=2, budget_s=0.05, warm_s=0.0
)


def config(results: Path, **changed: Any) -> Config:
    backend = {"honest": {"_target_": f"{FAKES}.Honest"}}
    made = Config({"_target_": f"{FAKES}.Toy"}, backend, "tiny", 4, measure=SHORT, results_dir=str(results), lock="ignore")
    for key, value in changed.items():
        setattr(made, key, value)
    return made


def test_a_store_that_cannot_be_written_to_is_refused_before_anything_is_measured(
    tmp_path: Path, started: list[Template]
) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(ConfigError, match="rows cannot be kept there"):
        Campaign().run(config(tmp_path / "results"))
    assert started == []
    Campaign().run(config(tmp_path / "others"))
    assert len(started) == 1, "elsewhere the same cell is begun"


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        ({"_target_": "bench.tests.broken.Backend"}, "importing bench.tests.broken raises RuntimeError: half of me is missing"),
        ({"_target_": "bench.tests.faults.OddVariants"}, "RuntimeError: which one?"),
        ({"_target_": "bench.tests.faults.OddVariants", "how": "none"}, "variants() gave none"),
        ({"_target_": "bench.tests.faults.OddVariants", "how": "no list"}, "TypeError"),
        ({"_target_": "bench.tests.faults.OddVariants", "how": "no options"}, "TypeError"),
        ({"_target_": "bench.tests.faults.OddVariants", "how": "unknown"}, "TypeError"),
        ({"_target_": "bench.tests.faults.OddVariants", "how": "cannot be made"}, "KeyError: 'a part of me'"),
    ],
)
def test_a_backend_that_cannot_be_made_is_a_row_and_the_others_go_on(backend: dict[str, str], why: str, tmp_path: Path) -> None:
    rows = Campaign().run(config(tmp_path, backend={"odd": backend, "honest": {"_target_": f"{FAKES}.Honest"}}))
    odd, honest = (row.record for row in rows)
    assert odd["status"] == "failed" and why in odd["why"], odd["why"]
    assert honest["status"] == "ok", honest["why"]


def test_a_run_that_is_not_stored_needs_no_place_for_rows(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    quick = Measure(**{**SHORT.settings(), "name": "quick", "stored": False})
    (row,) = Campaign().run(config(tmp_path / "results", measure=quick))
    assert row.record["status"] == "ok", row.record["why"]
    assert Path(row.record["log"]).is_absolute()


def test_a_row_that_cannot_be_kept_is_said_and_the_campaign_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    append = Store.append
    full = [True]

    def once(self: Store, row: Any) -> None:
        if full.pop() if full else False:
            raise OSError(28, "No space left on device")
        append(self, row)

    monkeypatch.setattr(Store, "append", once)
    both = {"honest": {"_target_": f"{FAKES}.Honest"}, "cheat": {"_target_": f"{FAKES}.Cheat"}}
    running = Campaign()
    rows = running.run(config(tmp_path, backend=both))
    assert [row.record["status"] for row in rows] == ["ok", "ok"]
    assert running.exit() == Exit.FAILED
    assert "1 not kept" in running.summary()
    said = capsys.readouterr().err
    assert "(ok) is not in" in said and "cells.jsonl: [Errno 28] No space left on device" in said
    assert len(list(Store(tmp_path, machine.name()))) == 1


def test_a_row_of_another_software_is_stale_and_what_changed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Campaign().run(config(tmp_path))
    (row,) = Campaign().run(config(tmp_path))
    assert row.earlier and not row.stale
    before = software.version("torch")
    monkeypatch.setattr(software, "version", lambda package: "9.9")
    (shown,) = Campaign().run(config(tmp_path, rerun="none"))
    assert shown.earlier and f"torch {before} -> 9.9" in shown.changed
    (again,) = Campaign().run(config(tmp_path))
    assert not again.earlier
    assert "stale: honest: toy tiny" in (said := capsys.readouterr().err) and f"torch {before} -> 9.9" in said


def test_the_harness_itself_and_what_a_backend_names_are_in_its_software() -> None:
    found = software.software(replace(cell(), backend=Part("named", f"{FAKES}.Named")))
    assert found["hydra-core"].startswith("1.3")
    assert found["no-such-program"] == "none"
    assert found["bench"] == software.harness()
    assert software.changes(found, {**found, "bench": "other"}) == [f"bench {found['bench']} -> other"]
    assert software.changes(found, found) == []


@pytest.mark.parametrize("what", ["a program", "a package", "the harness"])
def test_what_makes_a_row_stale_is_read_from_the_machine(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another version of a program in the PATH, of an installed package, or another source of what measures."""
    named = config(tmp_path / "results", backend={"named": {"_target_": f"{FAKES}.Named"}})
    program = tmp_path / "bin" / "no-such-program"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))

    def install(version: str) -> None:
        program.write_text(f"#!/bin/sh\necho such {version}\n")
        program.chmod(0o755)
        software.program_version.cache_clear()

    install("1.0")
    Campaign().run(named)
    (row,) = Campaign().run(named)
    assert row.earlier and row.record["software"]["no-such-program"] == "such 1.0"
    if what == "a program":
        install("1.1")
        change = "no-such-program such 1.0 -> such 1.1"
    elif what == "a package":
        before = software.version("hydra-core")
        (tmp_path / "packages" / "hydra_core-9.9.dist-info").mkdir(parents=True)
        (tmp_path / "packages" / "hydra_core-9.9.dist-info" / "METADATA").write_text("Name: hydra-core\nVersion: 9.9\n")
        software.version.cache_clear()
        change = f"hydra-core {before} -> 9.9"
    else:
        before = software.harness()
        monkeypatch.setattr(software, "MEASURING", software.MEASURING[1:])
        software.harness.cache_clear()
        change = f"bench {before} -> {software.harness()}"
    try:
        (again,) = Campaign().run(named)
    finally:
        for function in (software.program_version, software.version, software.harness):
            function.cache_clear()
    assert not again.earlier
    assert f"stale: named: toy tiny, batch 4, 1 thread, cpu, seed 0: {change}\n" in capsys.readouterr().err


def test_rows_without_the_keys_of_today_are_measured_again(tmp_path: Path) -> None:
    Campaign().run(config(tmp_path))
    (path,) = tmp_path.glob("*/cells.jsonl")
    whole = json.loads(path.read_text())
    damages: list[dict[str, Any]] = [{"status": "splendid"}, {"samples_s": None}, {"sample_round": [1]}, {"verified": {}}]
    damages += [{"software": 3}]
    for damage in damages:
        path.write_text(json.dumps({**whole, **damage}) + "\n")
        (row,) = Campaign().run(config(tmp_path))
        assert not row.earlier, damage
    path.write_text(json.dumps({key: value for key, value in whole.items() if key != "limits"}) + "\n")
    (row,) = Campaign().run(config(tmp_path))
    assert not row.earlier


def test_a_timeout_is_measured_again_when_there_is_more_time(tmp_path: Path) -> None:
    hanging = {"cheat": {"_target_": f"{FAKES}.Cheat", "how": "Hangs"}}
    short, longer = Isolate(deadline_s=3.0, memory_gb=1.0), Isolate(deadline_s=4.0, memory_gb=1.0)
    (row,) = Campaign().run(config(tmp_path, backend=hanging, isolate=short))
    assert row.record["status"] == "timeout"
    (row,) = Campaign().run(config(tmp_path, backend=hanging, isolate=short))
    assert row.earlier
    (row,) = Campaign().run(config(tmp_path, backend=hanging, isolate=longer))
    assert not row.earlier and "deadline of 4 s" in row.record["why"]


@pytest.mark.parametrize(("memory_gb", "roomier"), [(0.9, False), (1.0, False), (1.2, False), (1.3, True)])
def test_a_little_more_memory_is_no_reason_to_measure_again(memory_gb: float, roomier: bool, tmp_path: Path) -> None:
    """The free memory is never quite the same, so that otherwise what needs too much would be measured by every command."""
    then, now = Isolate(deadline_s=3.0, memory_gb=1.0), Isolate(deadline_s=3.0, memory_gb=memory_gb)
    latest = {"limits": memory.limits(then)}
    assert campaign._roomier(latest, config(tmp_path, isolate=now)) is roomier


@pytest.mark.parametrize("stored", [True, False])
def test_variants_that_are_the_same_program_are_measured_once(stored: bool, tmp_path: Path) -> None:
    same = {"same": {"_target_": f"{FAKES}.SameAnyhow"}, "honest": {"_target_": f"{FAKES}.Honest"}}
    measure = Measure(**{**SHORT.settings(), "name": "short", "stored": stored})
    rows = Campaign().run(config(tmp_path, backend=same, measure=measure))
    assert [row.record["status"] for row in rows] == ["ok"] * 3, [row.record["why"] for row in rows]
    measured, other = sorted((row for row in rows if row.cell.backend.name == "same"), key=lambda row: "same_as" in row.record)
    assert other.record["same_as"] == measured.cell.id == measured.record["id"] != other.record["id"]
    assert other.record["samples_s"] == measured.record["samples_s"]
    assert {row.record["options"]["tables"] for row in (measured, other)} == {True, False}
    if stored:
        assert all(row.earlier for row in Campaign().run(config(tmp_path, backend=same, measure=measure)))


def test_rows_are_kept_when_a_group_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(CellGroup):
        def _rounds(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "CellGroup", Interrupted)
    both = {"honest": {"_target_": f"{FAKES}.Honest"}, "cheat": {"_target_": f"{FAKES}.Cheat", "how": "Raises"}}
    running = Campaign()
    with pytest.raises(KeyboardInterrupt):
        running.run(config(tmp_path, backend=both))
    assert [row.record["status"] for row in running.rows] == ["failed"]
    assert "1 failed" in running.summary()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_with_a_summary(number: int, code: int, command: Callable[..., list[str]], tmp_path: Path) -> None:
    endless = ("measure.min_rounds=100000", "measure.max_rounds=100000", "measure.budget_s=600", "measure.relative_ci=1e-9")
    kept = ("measure=quick", "measure.stored=true", "backend=[honest,cheat]", "backend.cheat.how=Raises", *endless)
    heard = partial(signal.signal, number, signal.SIG_DFL)  # a shell has its background jobs ignore interrupts
    process = subprocess.Popen(command(*kept), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    while process.poll() is None and not any(path.stat().st_size for path in tmp_path.glob("results/*/cells.jsonl")):
        time.sleep(0.05)
    os.kill(process.pid, number)
    shown, said = process.communicate()
    assert process.returncode == code, said
    assert "interrupted: measured 0 cells; 1 failed; the same command goes on from here" in said
    assert "Traceback" not in said
    assert "ValueError: no such thing" in shown


NO_NAME = """
import bench.machine

def broken():
    raise RuntimeError("no name")

bench.machine.name = broken
"""
FIRST_CRASHES = """
import sys

if "bench" in sys.orig_argv:  # the command, and not a process that it starts
    from bench.campaign import Campaign

    run = Campaign.run

    def broken(self, config):
        Campaign.run = run
        raise RuntimeError("not the first")

    Campaign.run = broken
"""


def with_start(line: list[str], start: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command whose Python runs the text `start` first, which is kept in `folder`."""
    (folder / "sitecustomize.py").write_text(start)
    paths = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    return subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths})


def test_a_crash_of_the_harness_has_an_exit_code_of_its_own(command: Callable[..., list[str]], tmp_path: Path) -> None:
    done = with_start(command("backend=[honest]", "measure=quick"), NO_NAME, tmp_path)
    assert done.returncode == Exit.CRASHED
    assert "error of the harness: RuntimeError" in done.stderr


def test_a_crash_in_one_job_does_not_stop_a_sweep(command: Callable[..., list[str]], tmp_path: Path) -> None:
    sweep = command("-m", "backend=[honest]", "seed=1,2", "measure=quick", "measure.stored=true")
    done = with_start(sweep, FIRST_CRASHES, tmp_path)
    assert done.returncode == Exit.CRASHED, done.stderr
    assert "error of the harness: RuntimeError" in done.stderr and "measured 1 cell" in done.stderr
    assert [(row["seed"], row["status"]) for row in Store(tmp_path / "results", machine.name())] == [(2, "ok")]
