"""Documents name what exists, and each term once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TOP = ("bench", "backends", "workloads", "conf", "results", "scripts", "docs")
COMPILER = ROOT / "backends" / "acrobat"
ELSEWHERE = {"dynet.py", "dynet_config.py", "missing.md"}
"""Files that documents name and that are made elsewhere: by a build of DyNet, or by a report in its folder."""
SOURCE = re.compile(r"\.(py|md|yaml|toml|h|cpp)$")


def known() -> set[str]:
    """Every file and folder of the project, and what a path may leave out of it: `passes/dead.py`, `dead.py`."""
    every = [p for top in TOP for p in (ROOT / top).rglob("*")] + [ROOT / top for top in TOP] + [*ROOT.glob("*.*")]
    parts = [path.relative_to(ROOT).parts for path in every if "__pycache__" not in path.parts]
    return {"/".join(each[i:]) for each in parts for i in range(len(each))}


def paths(document: Path) -> list[str]:
    """What looks like a path in a document: code with a slash or a suffix of a source file, and targets of links."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    code = [word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()[:1]]
    named = [c for c in code if re.fullmatch(r"[\w./-]+", c) and (SOURCE.search(c) or "/" in c)]
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    return named + [str((document.parent / target).resolve().relative_to(ROOT)) for target in links]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_paths_in_documents_exist(document: Path) -> None:
    found = paths(document)
    folders = {*TOP, *(p.name for p in COMPILER.iterdir() if p.is_dir())}
    concern = [path for path in found if SOURCE.search(path) or path.removeprefix("./").split("/")[0] in folders]
    exist = known()
    missing = [path for path in concern if path.removeprefix("./").rstrip("/") not in exist | ELSEWHERE]
    assert concern, "no path was found: there is nothing to check"
    assert not missing


def test_the_glossary_explains_each_term_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "glossary.md").read_text(), flags=re.MULTILINE)
    terms = [term.strip() for term, _ in rows if term.strip() not in ("term", "---")]
    assert len(terms) > 50
    assert len(set(terms)) == len(terms)
    for term, meaning in rows:
        assert meaning.strip(), f"{term} has no meaning"
