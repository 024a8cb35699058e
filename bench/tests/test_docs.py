"""Paths in documents exist, the glossary has each term once, generated parts are current, programs in documents run, and each
backend says what it does."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from bench import registry
from bench.contract import Target

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TOP = ("bench", "backends", "workloads", "conf", "results", "scripts", "docs")
COMPILER = ROOT / "backends" / "acrobat"
ELSEWHERE = {"dynet.py", "dynet_config.py", "missing.md", "backends/pool/backend.py", "conf/backend/pool.yaml"}
"""Files that documents name and the project lacks: those of a build of DyNet, of a report, of a system that a reader adds."""
SOURCE = re.compile(r"\.(py|md|yaml|toml|h|cpp)$")


def known() -> set[str]:
    """The paths of all files and folders of the project, also without their first folders: `passes/dead.py`, `dead.py`."""
    every = [p for top in TOP for p in (ROOT / top).rglob("*")] + [ROOT / top for top in TOP] + [*ROOT.glob("*.*")]
    parts = [path.relative_to(ROOT).parts for path in every if "__pycache__" not in path.parts]
    return {"/".join(each[i:]) for each in parts for i in range(len(each))}


def paths(document: Path) -> list[str]:
    """The paths in a document: inline code with a slash or the suffix of a source file, and targets of links."""
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


def test_generated_parts_are_current() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts" / "readme", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


PARTS = ("At run time", "Ahead of time", "What it cannot do:", "Sources:")
"""How the paragraphs begin that the docstring of a backend's package has to have."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("backend", registry.names("backend"))
def test_each_backend_has_a_card(backend: str, part: str) -> None:
    settings: Any = OmegaConf.load(registry.CONF / "backend" / f"{backend}.yaml")
    source = ROOT.joinpath(*settings["_target_"].split(".")[:-2], "__init__.py")
    card = ast.get_docstring(ast.parse(source.read_text())) or ""
    found = [paragraph for paragraph in card.split("\n\n") if paragraph.startswith(part)]
    assert len(found) == 1, f"{source.relative_to(ROOT)} has {len(found)} paragraphs that begin with '{part}'"
    assert len(found[0].removeprefix(part).split()) >= 3, f"{source.relative_to(ROOT)} says nothing after '{part}'"


def programs(document: str) -> list[str]:
    """The Python blocks of a document."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / document).read_text(), flags=re.MULTILINE | re.DOTALL)


def test_the_model_of_the_document_compiles_and_runs(tmp_path: Path) -> None:
    """All blocks of the document together are one program, which checks its own results."""
    blocks = programs("your-model.md")
    assert len(blocks) >= 5
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "recorded operations ran as" in ran.stdout
    assert "score.bias" in ran.stdout, "what has changed is named"
    assert "program.py" in ran.stdout and "open" in ran.stdout, "what is not accepted is named with its place"


def test_the_system_of_the_document_keeps_the_contract() -> None:
    """The class in the document compiles a workload and gives the same outputs as eager PyTorch."""
    (block,) = [p for p in programs("add-a-system.md") if "class Pool" in p]
    names: dict[str, Any] = {}
    exec(block, names)
    from workloads.structures import arrays
    from workloads.treelstm.spec import Spec

    workload = Spec()
    backend = names["Pool"](Target("cpu", 1))
    assert backend.available() is None
    assert list(backend.variants()) == [{}]
    compiled = backend.compile(workload, "tiny", 0, 4)
    try:
        instances = compiled.place(workload.instances("tiny", 0, 4))
        outputs = compiled.fetch(compiled.run(instances))
        expected = [arrays(compiled.module(instance)) for instance in instances]
        for output, right in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(output, right, rtol=1e-5)
        assert compiled.counters()["mean_batch_width"] == 1.0
    finally:
        compiled.close()
