"""The command `python -m bench`: sweeps, resuming, rerunning, what it prints, and exit codes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.status import Exit
from bench.tests.conftest import CONF, FAKES
from bench.tests.test_cheats import _ended

Bench = Callable[..., "subprocess.CompletedProcess[str]"]
KEPT = ("measure=quick", "measure.stored=true", "measure.budget_s=0.05")


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("results/*/cells.jsonl") for line in path.read_text().splitlines()]


def test_a_killed_sweep_goes_on_where_it_stopped(command: Callable[..., list[str]], tmp_path: Path) -> None:
    """SIGKILL at two random moments of a sweep of eight cells: nothing is lost and nothing is measured twice."""
    labels = ",".join(str(i) for i in range(8))
    sweep = command("-m", "backend=[honest]", f"backend.honest.label={labels}", *KEPT)
    moments = random.Random()
    counts: list[int] = []
    for _ in range(2):
        process = subprocess.Popen(sweep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The kill comes some time after a certain number of rows, so that it hits the work on a machine of any speed.
        goal = (counts[-1] if counts else 0) + moments.randint(1, 3)
        while len(rows(tmp_path)) < goal and process.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        counts.append(len(rows(tmp_path)))
    done = subprocess.run(sweep, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.OK, done.stderr
    assert f"{counts[-1]} finished earlier" in done.stderr
    found = rows(tmp_path)
    assert Counter(row["options"]["label"] for row in found) == dict.fromkeys(range(8), 1)
    assert {row["status"] for row in found} == {"ok"}
    assert done.stdout.count("latency ms, steady") == 8, "cells finished earlier are in the tables too"


def test_what_a_killed_command_has_started_ends(command: Callable[..., list[str]], tmp_path: Path) -> None:
    """Also a cell in the middle of a run, which does not see that nobody waits for it. What the cell has started may stay."""
    noted = tmp_path / "noted"
    line = command("backend=[cheat]", "backend.cheat.how=Hangs", f"backend.cheat.note={noted}", "measure=quick")
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (noted.exists() and noted.read_text()):
        time.sleep(0.02)
    of_the_cell = [psutil.Process(int(pid)) for pid in noted.read_text().split()]
    started = set(psutil.Process(process.pid).children(recursive=True)).difference(of_the_cell)
    try:
        assert of_the_cell[0].parent() in started
        process.kill()
        process.wait()
        for each in started:
            assert _ended(each.pid), each
    finally:
        for each in of_the_cell:
            each.kill()


def test_failures_do_not_stop_a_sweep_and_are_rows(bench: Bench, tmp_path: Path) -> None:
    sweep = ("-m", "backend=[cheat]", "backend.cheat.how=Raises,Crashes,Applied,refuses,missing,PreviousResult", *KEPT)
    done = bench(*sweep)
    assert done.returncode == Exit.WRONG
    expected = {
        "Raises": "failed",
        "Crashes": "failed",
        "Applied": "ok",
        "refuses": "unsupported",
        "missing": "unavailable",
        "PreviousResult": "wrong",
    }
    assert {row["options"]["how"]: row["status"] for row in rows(tmp_path)} == expected
    assert bench(*sweep).returncode == Exit.WRONG
    assert len(rows(tmp_path)) == 6, "nothing is measured again unasked, and being unavailable still is no news"
    bench(*sweep, "rerun=failed")
    again = Counter(row["options"]["how"] for row in rows(tmp_path))
    assert again == {"Raises": 2, "Crashes": 2, "PreviousResult": 2, "Applied": 1, "refuses": 1, "missing": 1}


def test_a_job_that_is_refused_does_not_stop_a_sweep(bench: Bench, tmp_path: Path) -> None:
    done = bench("-m", "backend=[honest]", "seed=-1,0", *KEPT)
    assert done.returncode == Exit.CONFIG, done.stderr
    assert "error: seed=-1" in done.stderr and "measured 1 cell" in done.stderr
    assert [(row["seed"], row["status"]) for row in rows(tmp_path)] == [(0, "ok")]


@pytest.mark.parametrize(("jobs", "seeds"), [(["seed=0"], [0]), (["-m", "seed=0,1"], [0, 1])], ids=["one job", "a sweep"])
def test_paths_with_blanks_signs_and_letters_of_any_language(jobs: list[str], seeds: list[int], tmp_path: Path) -> None:
    """Also in a terminal without a language."""
    folder = tmp_path / "ünï, a=b 変"
    folder.mkdir()
    (folder / "d=1, ä.txt").write_text("3 1 2")
    of_toy = ["workload=toy", f"workload._target_={FAKES}.FromFile", f"workload.data='{folder}/d=1, ä.txt'", "size=tiny"]
    settings = ["batch_size=4", "lock=ignore", "backend=[honest]", f"results_dir='{folder}/results'", *KEPT]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--config-dir", str(CONF), *jobs, *of_toy, *settings],
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert done.returncode == Exit.OK, done.stderr.decode()
    found = rows(folder)
    assert sorted((row["seed"], row["status"]) for row in found) == [(seed, "ok") for seed in seeds]
    for row in found:
        assert (folder / "results" / row["log"]).is_file()


def test_a_sweep_without_a_place_for_its_logs_is_refused_in_one_line(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    done = bench("-m", "backend=[honest]", "seed=1,2", *KEPT)
    assert done.returncode == Exit.CONFIG
    assert done.stderr.startswith("error: the folder for logs of a sweep cannot be made") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("hydra.nothing=3", "Could not override 'hydra.nothing'.; Key 'nothing' not in 'HydraConf'"),
        ("hydra/launcher=nothing", "In 'hydra/config': Could not find 'hydra/launcher/nothing'; Available options in"),
        (
            "hydra.job.num=x",
            "Error merging override hydra.job.num=x; Value 'x' of type 'str' could not be converted to Integer",
        ),
    ],
)
def test_what_hydra_refuses_is_one_line(argument: str, why: str, bench: Bench) -> None:
    done = bench("backend=[honest]", "measure=quick", argument)
    assert done.returncode == Exit.CONFIG
    assert done.stderr.startswith(f"error: {why}") and done.stderr.count("\n") == 1, done.stderr


def test_quick_is_not_kept(bench: Bench, tmp_path: Path) -> None:
    done = bench("backend=[honest]", "measure=quick")
    assert done.returncode == Exit.OK
    assert "latency ms, steady" in done.stdout
    assert not rows(tmp_path)


def test_nothing_measured_is_no_success(bench: Bench) -> None:
    done = bench("backend=[cheat]", "backend.cheat.how=missing", "measure=quick")
    assert done.returncode == Exit.NOTHING
    assert "measured 0 cells" in done.stderr
    assert "unavailable: not installed" in done.stdout


def test_a_campaign_can_be_cut_and_goes_on(bench: Bench, tmp_path: Path) -> None:
    sweep = ("-m", "backend=[honest]", "backend.honest.label=0,1", *KEPT)
    cut = bench(*sweep, "limit.wall_s=0")
    assert cut.returncode == Exit.CUT
    assert not rows(tmp_path)
    assert bench(*sweep).returncode == Exit.OK
    assert len(rows(tmp_path)) == 2


def test_the_fastest_variant_represents_a_backend(bench: Bench, tmp_path: Path) -> None:
    done = bench("backend=[honest,cheat]", "backend.honest.pace=both", *KEPT)
    assert done.returncode == Exit.OK
    assert "honest is the fastest of its variants (honest pace=slow" in done.stdout
    assert len(rows(tmp_path)) == 3


def test_a_row_says_all_and_names_no_place(bench: Bench, tmp_path: Path) -> None:
    bench("backend=[honest]", *KEPT)
    (row,) = rows(tmp_path)
    for key in ("id", "source", "status", "machine", "environment", "commit", "started", "stop", "cold", "memory"):
        assert row[key], key
    assert row["breakdown"] == {"kernel": 0.1}
    assert row["counters"]["batches"] == 3
    columns = [row[key] for key in ("samples_s", "sample_minibatch", "sample_round", "sample_pass")]
    assert len({len(column) for column in columns}) == 1, "one entry per sample in each"
    assert {0, 1} == set(row["sample_minibatch"]) == set(row["sample_round"])
    assert 0 in row["sample_pass"] and len(set(row["sample_pass"])) >= 3, "a resumed pass and two steady ones"
    assert row["session"]
    assert row["measure_settings"]["budget_s"] == 0.05
    assert row["verified"]["n"] == 8
    assert 0 < row["verified"]["max_rel"] < 1e-3
    (kept,) = tmp_path.glob("results/*/machine.json")
    machine = json.loads(kept.read_text())
    assert row["environment"] in machine["environments"]
    for text in (json.dumps(row), kept.read_text()):
        assert str(tmp_path) not in text
        assert str(Path.home()) + "/" not in text
    assert (kept.parent.parent / row["log"]).is_file()
