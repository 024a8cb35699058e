"""Which changes of sources make a row stale: those of compiled text in folders that the cell can run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from bench import registry, sources, targets
from bench.tests.conftest import FAKES

ROOT = Path(__file__).parents[2]


def test_comments_docstrings_and_layout_of_python_do_not_count() -> None:
    one = (
        '"""Of a module."""\nclass A:\n    """Of it."""\n    def f(self, x):\n        "Its own."\n        return x + 1  # why\n'
    )
    other = "class A:\n\n    def f(self,\n          x):\n        return (x + 1)\n"
    assert sources.compiled(one, ".py") == sources.compiled(other, ".py")
    assert sources.compiled(one, ".py") != sources.compiled(other.replace("x + 1", "x + 2"), ".py")
    below = 'LARGEST = 64\n"""What {}."""\n'
    assert sources.compiled(below.format("it is"), ".py") == sources.compiled(below.format("it was"), ".py")
    said = 'def f():\n    return "a text that is used"\n'
    assert sources.compiled(said, ".py") != sources.compiled(said.replace("is used", "was used"), ".py")


def test_comments_of_cpp_do_not_count_and_texts_do() -> None:
    one = 'int f() { /* of\n two lines */ return g("// no comment", \'"\'); } // why \\\n goes on\nint h;'
    other = 'int f() {   return g("// no comment", \'"\'); }  \nint h;'
    assert sources.compiled(one, ".h") == sources.compiled(other, ".h")
    assert sources.compiled(one, ".h") != sources.compiled(one.replace("no comment", "a comment"), ".h")
    separated = "long n = 1'000'000; // it's many\nint m;"
    assert sources.compiled(separated, ".h") == sources.compiled("long n = 1'000'000;  \nint m;", ".h")
    raw = 'auto s = R"x(/* kept " )" // )x"; // gone'
    assert sources.compiled(raw, ".cpp").strip() == 'auto s = R"x(/* kept " )" // )x";'


def test_a_text_that_is_no_python_counts_whole() -> None:
    assert sources.compiled("def f(:", ".py") != sources.compiled("def f(: # why", ".py")


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / f"plugged_{tmp_path.name}"  # a new name for each test, because modules stay imported
    for name in ("tests", "cuda", "deeper"):
        (folder / name).mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "backend.py").write_text('class B:\n    uses = ("beside",)\n')
    (tmp_path / "beside.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.mark.parametrize(
    ("file", "text", "devices"),
    [
        ("backend.py", 'class B:\n    uses = ("beside",)\n    y = 1\n', {"cpu", "cuda"}),
        ("backend.py", '# why\nclass B:\n    uses = ("beside",)\n', set()),
        ("deeper/part.cpp", "int x;", {"cpu", "cuda"}),
        ("tests/test_b.py", "", set()),
        ("cuda/part.py", "", {"cuda"}),
        ("../beside.py", "x = 2\n", {"cpu", "cuda"}),
        ("notes.txt", "", set()),
    ],
)
def test_what_a_change_makes_stale(
    file: str, text: str, devices: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path, monkeypatch)

    def digests() -> dict[str, str]:
        return {device: sources.digest(sources.backend_files(f"{folder.name}.backend.B", device)) for device in ("cpu", "cuda")}

    before = digests()
    (folder / file).write_text(text)
    assert {device for device, digest in digests().items() if digest != before[device]} == devices


def test_what_is_known_of_a_source_may_be_lost_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    for content in (None, "{", '{"a": 1}'):
        cache = tmp_path / str(len(found))
        cache.mkdir()
        monkeypatch.setenv("BENCH_CACHE", str(cache))
        if content is not None:
            (cache / "sources.json").write_text(content)
        found.append(sources.digest(sources.backend_files(f"{FAKES}.Honest", "cpu")))
        assert (cache / "sources.json").stat().st_size > 40
    assert len(set(found)) == 1


@pytest.mark.parametrize("backend", registry.names("backend"))
def test_a_backend_names_what_it_uses_of_others(backend: str) -> None:
    """Each module of `backends` that a backend's files import, also inside functions, is among the files that count for it."""
    counted = set(sources.backend_files(_target(backend), "cuda"))
    own = [path for path in counted if path.suffix == ".py"]
    assert own
    missing = {
        (str(path.relative_to(ROOT)), module)
        for path in own
        for module in _imported(path)
        if module.startswith("backends.") and (place := targets.place(module)) is not None and place not in counted
    }
    assert not missing


def _target(backend: str) -> str:
    settings = OmegaConf.to_container(OmegaConf.load(registry.CONF / "backend" / f"{backend}.yaml"))
    assert isinstance(settings, dict)
    return str(settings["_target_"])


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if targets.place(name) is not None} or {node.module}
    return found
