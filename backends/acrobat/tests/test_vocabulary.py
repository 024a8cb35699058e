"""One name has one meaning (docs/glossary.md)."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ACROBAT = Path(__file__).resolve().parents[1]


def test_class_names_are_unique() -> None:
    """In all of the compiler, a leading underscore aside; models in tests may be called alike."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(p for p in ACROBAT.rglob("*.py") if "tests" not in p.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{path.relative_to(ACROBAT)}:{node.lineno}")
    assert len(places) > 200
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_passes_and_analyses_name_their_source() -> None:
    """Each says in its docstring whether it is the paper's, another's, or our own."""
    files = [p for folder in ("analyses", "passes") for p in (ACROBAT / folder).glob("*.py") if p.name != "__init__.py"]
    assert len(files) > 30
    missing = [p.name for p in files if "\nSource: " not in (ast.get_docstring(ast.parse(p.read_text())) or "")]
    assert missing == []
