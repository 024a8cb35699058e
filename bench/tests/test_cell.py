"""A cell's id depends on its configuration and on nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from bench.cell import Cell, Part
from bench.tests.conftest import FAKES, cell


def test_id_is_what_it_was() -> None:
    """Stored rows are found again only as long as this does not change."""
    fixed = Cell(Part("toy", f"{FAKES}.Toy", {"data": None}), Part("honest", f"{FAKES}.Honest", {"label": 0, "pace": "own"}))
    assert fixed.id == "f44d0d2506777afc"


def test_id_does_not_depend_on_hashing_or_order() -> None:
    code = "from bench.tests.conftest import cell; print(cell().id)"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert found.stdout.strip() == cell().id
    turned = replace(cell(), backend=Part("cheat", f"{FAKES}.Cheat", {"note": "", "how": "Applied"}))
    assert turned.id == cell().id


@pytest.mark.parametrize("name", [field.name for field in fields(Cell)])
def test_every_field_counts(name: str) -> None:
    other: dict[str, Any] = {
        "workload": Part("toys", f"{FAKES}.Toy"),
        "backend": Part("cheat", f"{FAKES}.Cheat", {"how": "Raises"}),
        "size": "large",
        "device": "cuda",
        "measure": "paper",
        "env": {"MKL_CBWR": "AVX2"},
    }
    assert replace(cell(), **{name: other.get(name, 99)}).id != cell().id


def test_a_data_file_counts_by_what_is_in_it(tmp_path: Path) -> None:
    def using(path: Path) -> Cell:
        return replace(cell(), workload=Part("toy", f"{FAKES}.Toy", {"data": str(path)}))

    first, moved, other = tmp_path / "d.txt", tmp_path / "elsewhere" / "d.txt", tmp_path / "other" / "d.txt"
    moved.parent.mkdir()
    other.parent.mkdir()
    first.write_text("one")
    shutil.copy(first, moved)
    other.write_text("two")
    assert using(first).id == using(moved).id != using(other).id
    assert str(tmp_path) not in str(using(first).canonical())


def test_source_follows_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "plugged"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    code = package / "backend.py"
    code.write_text("class B: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = replace(cell(), backend=Part("b", "plugged.backend.B"))
    before = made.source
    (package / "tests" / "test_b.py").write_text("")
    (package / "notes.txt").write_text("")
    assert made.source == before
    code.write_text("class B: pass\n")
    assert made.source != before
