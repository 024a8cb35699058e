"""`scripts/gpu` with a stand-in for Python: the order of its steps, what it does not do twice, and what it brings home; and the
program that it checks results with, where a check ends its process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backends.acrobat import versions
from backends.acrobat.options import Options
from backends.acrobat.tests import gpu

ROOT = Path(__file__).resolve().parents[3]

PYTHON = """#!/usr/bin/env bash
# Notes its arguments; fails where they contain $FAILS; as the harness it adds a row.
cd "$(dirname "$0")"
case "$*" in
    *--sources) echo "of this tree"; exit ;;
    *"-m "*) echo "$*" >>calls ;;
esac
if [[ "$*" == *"-m bench"* ]]; then mkdir -p results/machine; echo row >>results/machine/cells.jsonl; fi
echo "has run"
[[ -z "${FAILS:-}" || "$*" != *"$FAILS"* ]] || exit 3
"""


class Tree:
    """A folder with the script, and a stand-in for Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "gpu", folder / "scripts" / "gpu")
        (folder / "python").write_text(PYTHON)
        (folder / "python").chmod(0o755)

    def run(self, *arguments: str, code: int = 0, fails: str = "") -> str:
        environment = os.environ | {
            "PYTHON": str(self.folder / "python"),
            "FAILS": fails,
            "ACROBAT_CACHE": str(self.folder / "kept"),
        }
        command = [str(self.folder / "scripts" / "gpu"), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    def calls(self) -> list[str]:
        """The commands since the last time."""
        path = self.folder / "calls"
        calls = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def test_what_matters_most_comes_first_and_nothing_is_done_twice(tree: Tree) -> None:
    said = tree.run("device", "right", "tiles", "grid", "ablation")
    calls = tree.calls()
    kinds = ["kernels.cuda.constants", "--settings walk -- treelstm", "--notes", "--trials", "-m bench"]
    firsts = [next(i for i, call in enumerate(calls) if kind in call) for kind in kinds]
    assert firsts == sorted(firsts)
    benched = [call for call in calls if "-m bench" in call]
    assert all("backend=[acrobat,pytorch]" in call for call in benched[:7])
    assert len({word for call in benched[:7] for word in call.split() if word.startswith("workload=")}) == 7
    assert "ablation" in benched[-1]
    assert "grid-systems-berxit" in said.partition("== all steps")[2]
    assert "done before" in tree.run("device", "right", "tiles", "grid", "ablation")
    assert tree.calls() == []


def test_what_failed_is_passed_over_until_it_is_asked_for_again(tree: Tree) -> None:
    said = tree.run("device", "grid", code=1, fails="workload=mvrnn backend=[acrobat,pytorch]")
    assert "grid-systems-mvrnn" in said and "FAILED with exit code 3" in said
    assert len(tree.calls()) > 7
    assert "FAILED before" in tree.run("device", "grid", code=1)
    assert tree.calls() == []
    tree.run("--again", "device", "grid")
    assert [call for call in tree.calls() if "workload=mvrnn" in call and "backend=[acrobat,pytorch]" in call]


def test_what_was_found_is_brought_home_and_gone_on_with(tree: Tree, tmp_path: Path) -> None:
    tree.run("device", "grid")
    archive = tmp_path / "found.tar.gz"
    measured = tree.folder / "kept" / "tuning" / "cuda" / "kernel.json"
    measured.parent.mkdir(parents=True)
    measured.write_text("times")
    tree.run("--pack", str(archive))
    home = Tree(tmp_path / "home")
    home.run("--unpack", str(archive))
    rows = home.folder / "results" / "machine" / "cells.jsonl"
    assert rows.read_text() == (tree.folder / "results" / "machine" / "cells.jsonl").read_text()
    rows.unlink()  # as in a tree that is copied anew without what nobody has committed
    home.run("device", "grid")
    assert home.calls() == [] and rows.exists()
    assert (home.folder / "kept" / "tuning" / "cuda" / "kernel.json").read_text() == "times"


def test_rows_that_were_added_since_are_kept(tree: Tree, tmp_path: Path) -> None:
    tree.run("grid")
    tree.run("--pack", str(tmp_path / "found.tar.gz"))
    rows = tree.folder / "results" / "machine" / "cells.jsonl"
    rows.write_text(more := rows.read_text() + "row of somebody else\n")
    tree.run("--unpack", str(tmp_path / "found.tar.gz"))
    assert rows.read_text() == more


def test_nothing_is_begun_without_time(tree: Tree) -> None:
    assert "not begun" in tree.run("device", "--budget", "5s", code=5)
    assert tree.calls() == []


class TestChecks:
    """`check_all` of the program behind the step `right`."""

    @pytest.fixture
    def checked(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        checked: list[str] = []

        def check(name: str, options: Options) -> str:
            checked.append(options.launch)
            if options.launch == "launches":
                raise AssertionError("another number")
            return "equal"

        monkeypatch.setattr(gpu, "check_tiny", check)
        return checked

    @staticmethod
    def run(notes: Path) -> int:
        return gpu.check_all(["treelstm"], ["walk", "launches"], True, gpu.Notes(notes), 60)

    def test_what_was_right_is_not_checked_again(self, checked: list[str], tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        assert self.run(notes) == 1 and checked == ["walk", "launches"]
        assert self.run(notes) == 1 and checked == ["walk", "launches", "launches"]

    def test_a_check_that_ended_its_process_is_wrong_and_not_tried_again(
        self, checked: list[str], tmp_path: Path, capsys: Any
    ) -> None:
        notes = tmp_path / "notes"
        notes.write_text(f"begun {versions.source_hash()} tiny treelstm walk\n")
        assert self.run(notes) == 2 and checked == ["launches"]
        assert "treelstm walk tiny: WRONG: it ended its process or took longer than 60 s" in capsys.readouterr().out
