"""Imports keep the order of the folders that `[tool.importlinter]` in pyproject.toml states."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages in a folder, with the folder's pyproject.toml."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    return subprocess.run([sys.executable, "-c", LINT], cwd=folder, env=environment, capture_output=True, text=True)


def test_every_folder_imports_only_those_below_it() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (found := re.search(r"Analyzed (\d+) files", result.stdout))
    assert int(found[1]) > len(list(ROOT.glob("backends/acrobat/**/*.py"))), result.stdout
    assert re.search(r"Contracts: ([4-9]|\d\d+) kept, 0 broken", result.stdout), result.stdout


@pytest.mark.parametrize(
    "upward",
    ["import backends.acrobat.compiler\n", "def late():\n    from backends.acrobat.compiler import compile\n"],
    ids=["at the top", "inside a function"],
)
def test_an_import_against_the_order_is_found(upward: str, tmp_path: Path) -> None:
    """The contracts are checked on empty files of the project's names, of which one imports against the order."""
    for package in ("bench", "workloads", "backends"):
        for path in [ROOT / package, *(p for p in (ROOT / package).rglob("*") if p.is_dir() and "__pycache__" not in p.parts)]:
            (tmp_path / path.relative_to(ROOT)).mkdir(parents=True, exist_ok=True)
            (tmp_path / path.relative_to(ROOT) / "__init__.py").touch()
    for path in (ROOT / "backends" / "acrobat").rglob("*.py"):
        (tmp_path / path.relative_to(ROOT)).touch()
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    assert lint(tmp_path).returncode == 0
    (tmp_path / "backends/acrobat/ir/nodes.py").write_text(upward)
    broken = lint(tmp_path)
    assert broken.returncode == 1
    assert "backends.acrobat.ir is not allowed to import backends.acrobat.compiler" in " ".join(broken.stdout.split())


def test_the_runtime_knows_no_device() -> None:
    """Only files in a device's own folder include its headers."""
    runtime = ROOT / "backends" / "acrobat" / "runtime"
    devices = ("cpu", "cuda")
    assert all((runtime / device).is_dir() for device in devices)
    included: dict[str, list[str]] = {}
    for path in sorted(p for kind in ("*.h", "*.cpp") for p in runtime.rglob(kind)):
        inside = path.relative_to(runtime).parts[0]
        for other in [device for device in devices if device != inside]:
            if re.search(rf'#include "[^"]*\b{other}/', path.read_text()):
                included.setdefault(str(path.relative_to(runtime)), []).append(other)
    assert included == {}
