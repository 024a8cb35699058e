"""A backend is imported in processes of its own only, and the harness knows of its class what these tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench import description, targets
from bench.description import Question, ask, described
from bench.status import Exit
from bench.tests.conftest import CONF, FAKES

ROOT = Path(__file__).parents[2]
HOSTILE = """
import numpy as np

import bench.verifier
from bench.tests.fakes import Applied, Honest

bench.verifier.Verifier.check = lambda self, handed, when: 1
bench.verifier.Verifier.check_unseen = lambda self, handed, answers: 1


class Zeros(Applied):
    def apply(self, instance):
        return np.zeros_like(instance.x)


class Hostile(Honest):
    def compile(self, workload, size, seed, batch_size):
        return Zeros(workload.params(size, seed)["layer.weight"])
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package beside the test, whose module `backend` a test may write."""
    folder = tmp_path / f"beside_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder.name
    assert not [name for name in sys.modules if name.startswith(folder.name)], "the process that measures has imported it"


def write(module: str, text: str) -> str:
    """Write the module `backend` of the package. Returns the name of the class `B` in it."""
    (Path(sys.path[0]) / module / "backend.py").write_text(text)
    return f"{module}.backend.B"


def test_a_module_that_changes_the_harness_changes_only_its_own_process(module: str, tmp_path: Path) -> None:
    write(module, HOSTILE)
    shutil.copytree(CONF, tmp_path / "conf")
    hostile = f"# @package backend.hostile\n_target_: {module}.backend.Hostile\nlabel: 0\npace: own\n"
    (tmp_path / "conf" / "backend" / "hostile.yaml").write_text(hostile)
    settings = [f"results_dir={tmp_path / 'results'}", "workload=toy", "size=tiny", "batch_size=4", "measure=quick"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--config-dir", str(tmp_path / "conf"), *settings, "backend=[hostile,honest]"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )
    assert done.returncode == Exit.WRONG, done.stdout + done.stderr
    assert "hostile: wrong: mini-batch 0, before timing" in done.stdout
    assert "1 wrong" in done.stderr and "measured 1 cell" in done.stderr


def test_what_a_class_names_and_its_variants() -> None:
    (answer,) = ask([Question("honest", f"{FAKES}.Honest", {"label": 3, "pace": "both"})])
    assert answer.complete == {"label": 3, "pace": "both"}
    assert answer.variants == [{"label": 3, "pace": "slow"}, {"label": 3, "pace": "own"}]
    assert (answer.options["label"].default, answer.options["pace"].choices) == (0, "own|both|slow")
    assert answer.options["label"].number and not answer.options["pace"].number
    named = described(f"{FAKES}.Named")
    assert (named.packages, named.programs, named.uses) == (["hydra-core"], ["no-such-program"], [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("raise SystemExit(3)", "raises SystemExit: 3"),
        ("import os\nos._exit(0)", "its module ended the process that imported it"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "its module ended the process that imported it"),
        ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "the process that asks backends has ended"),
        ("class B: pass\nB = 3", "B is not a class"),
    ],
)
def test_what_cannot_be_imported_is_said(text: str, why: str, module: str) -> None:
    answers = ask([Question("b", write(module, text)), Question("honest", f"{FAKES}.Honest")])
    assert why in (answers[0].why or ""), answers[0]
    assert answers[1].why is None and answers[1].variants == [{"label": 0, "pace": "own"}]


def test_options_that_are_no_plain_values_are_left_to_the_cell(module: str) -> None:
    target = write(module, "class B:\n    def __init__(self, target, own=object()): ...\n    def variants(self): return [{}]")
    (answer,) = ask([Question("b", target)])
    assert (answer.why, answer.refused, answer.complete, answer.variants) == (None, None, None, None)


def test_what_a_module_prints_is_no_answer_and_what_it_starts_is_ended(module: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = f"""
import subprocess, sys
print("[{{}}]", flush=True)
command = "import os, time; os.setsid(); open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", command], start_new_session=True)
import pathlib, time
while not (pathlib.Path({str(started)!r}).exists() and pathlib.Path({str(started)!r}).read_text()):
    time.sleep(0.01)
class B:
    def __init__(self, target, x: int = 4): ...
    def variants(self): return [{{}}]
"""
    (answer,) = ask([Question("b", write(module, text.replace("os.setsid(); ", "")))])
    assert answer.variants == [{"x": 4}]
    pid = int(started.read_text())
    for _ in range(200):
        if not psutil.pid_exists(pid):
            break
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{",
        "[]",
        "3",
        json.dumps({"options": {"a": [1]}}),
        json.dumps({"options": 3}),
        json.dumps({"packages": [3]}),
        json.dumps({"packages": 3}),
        json.dumps({"variants": ["a"]}),
        json.dumps({"refused": 3}),
        json.dumps({"nothing": 3}),
    ],
)
def test_a_malformed_answer_is_none(written: str) -> None:
    answer = description._read(written)
    assert answer.why and not answer.packages and not answer.variants and not answer.refused


def test_the_file_of_a_module_is_found_without_importing_anything(module: str) -> None:
    folder = Path(sys.path[0]) / module
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    write(module, "raise RuntimeError('imported')")
    assert targets.place(module) == folder / "__init__.py"
    assert targets.place(f"{module}.backend") == folder / "backend.py"
    assert [targets.place(name) for name in (f"{module}.nothing", "", ".", "a..b")] == [None] * 4


def test_a_server_that_was_ended_is_started_again() -> None:
    questions: list[Mapping[str, Any]] = [{"label": 100 + i} for i in range(2)]
    for options in questions:
        (answer,) = ask([Question("honest", f"{FAKES}.Honest", options)])
        assert answer.complete == {**options, "pace": "own"}
        assert description._server._process is not None
        description._server._process.kill()
