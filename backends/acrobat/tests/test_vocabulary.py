"""One name has one meaning (docs/glossary.md)."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ACROBAT = Path(__file__).resolve().parents[1]
BENCH = ACROBAT.parents[1] / "bench"


@pytest.mark.parametrize(("folder", "least"), [(ACROBAT, 200), (BENCH, 100)])
def test_class_names_are_unique(folder: Path, least: int) -> None:
    """In all of the compiler, and in all of the harness, a leading underscore aside; models in tests may be called alike."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(p for p in folder.rglob("*.py") if "tests" not in p.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{path.relative_to(folder)}:{node.lineno}")
    assert len(places) > least
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_passes_and_analyses_name_their_source() -> None:
    """Each says in its docstring whether it is the paper's, another's, or our own."""
    files = [p for folder in ("analyses", "passes") for p in (ACROBAT / folder).glob("*.py") if p.name != "__init__.py"]
    assert len(files) > 30
    missing = [p.name for p in files if "\nSource: " not in (ast.get_docstring(ast.parse(p.read_text())) or "")]
    assert missing == []
