"""The folders of the evaluator, and the files of each, stand once in the order in which they can be read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from backends.acrobat.frontend import evaluator

HERE = Path(str(evaluator.__file__)).parent
FOLDERS = sorted(path.parent.name for path in HERE.glob("*/__init__.py"))


def test_each_folder_stands_once_in_the_order_of_imports() -> None:
    named = re.findall(r"^`(\w+)/`", str(evaluator.__doc__), flags=re.MULTILINE)
    assert sorted(named) == FOLDERS
    contracts = tomllib.loads((HERE.parents[3] / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each.get("containers") == [evaluator.__name__]]
    assert named == [layer for layer in reversed(layers) if layer in FOLDERS]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_file_stands_once_in_its_folder(folder: str) -> None:
    text = (HERE / folder / "__init__.py").read_text()
    named = re.findall(r"`(\w+\.py)`", text)
    assert sorted(named) == sorted(path.name for path in (HERE / folder).glob("*.py") if path.name != "__init__.py")


def test_only_the_state_of_a_frame_sets_what_a_trial_must_put_back() -> None:
    """Elsewhere a context of `frame_state.py` is entered, which puts it back whatever happens inside."""
    setting = re.compile(r"\.(mutated|gives_up)(, [\w.]+)* = ")
    files = [path for path in HERE.parent.rglob("*.py") if "tests" not in path.parts]
    assert [path.name for path in files if setting.search(path.read_text())] == ["frame_state.py"]
