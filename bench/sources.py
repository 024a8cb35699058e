"""The sources that a cell's numbers depend on: when they change, its stored row is stale.

What cannot change a number does not count. In a file, comments and docstrings do not count; in a folder, neither do tests and
other folders of code that no cell runs (`ASIDE`), nor the folders named after another device than the cell's. A backend that
runs code of another package names it in its class attribute `uses`, as in `uses = ("backends.pytorch",)`: a package with its
whole folder, or a single module.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from bench.cache import cache_folder
from bench.description import described
from bench.devices import DEVICES
from bench.files import put
from bench.targets import place

SUFFIXES = frozenset({".py", ".pyx", ".c", ".cc", ".cpp", ".h", ".hpp", ".cu", ".cuh"})
ASIDE = frozenset({"tests", "benchmarks", "walkthrough", "__pycache__"})
HOST = "cpu"  # this device's folders are part of every run, whichever device the cell has
LONGEST = 8192  # how many hashes are kept, the newest ones
WORDS = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)            # to the end of the line, which may be continued, or to the mark
      | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"         # a raw string: nothing in it begins a comment
      | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)


def backend_files(target: str, device: str) -> list[Path]:
    """The source files in the backend's own folder and of what it names in `uses`. `target`: the dotted name of its class."""
    used = [path for module in described(target).uses for path in _used(module, device)]
    return [*_folder_files(_folder(target), device), *used]


def workload_files(target: str) -> list[Path]:
    """The source files in the workload's own folder, and the modules beside that folder, which every workload may use."""
    folder = _folder(target)
    shared = [] if folder is None else [p for p in folder.parent.glob("*.py") if p.stem not in ("__init__", "oracle")]
    contract = Path(__file__).with_name("contract.py")
    return [*_folder_files(folder, HOST), *shared, contract]


def oracle_files() -> list[Path]:
    """The source files that make the right answers of a model."""
    path = place("workloads.oracle")
    return [Path(__file__).with_name("answers.py"), *([] if path is None else [path])]


def digest(files: Iterable[Path | str], folder: Path | None = None) -> str:
    """A hash of the files' paths in the project and of what `compiled` keeps of their contents, in whatever order they come.
    What is known of the contents is kept in `sources.json` in `folder`, by default the cache folder.

    Each file is read each time. For 650 files that takes 15 ms, and as much again with a `Path` for each."""
    root = f"{Path(__file__).parent.parent}{os.sep}"
    hashed = hashlib.sha256()
    content_hashes = _known((folder or cache_folder()) / "sources.json")
    for path in sorted(set(map(str, files)), key=lambda path: path.split(os.sep)):  # the order of `Path`
        name = path.removeprefix(root) if path.startswith(root) else os.path.basename(path)
        hashed.update(name.encode() + b"\0" + content_hashes.of(path).encode() + b"\0")
    content_hashes.keep()
    return hashed.hexdigest()[:16]


def _folder(target: str) -> Path | None:
    path = place(target.rpartition(".")[0])
    return None if path is None else path.parent


def _used(module: str, device: str) -> list[Path]:
    path = place(module)
    if path is None:
        return []
    return _folder_files(path.parent, device) if path.name == "__init__.py" else [path]


def _folder_files(folder: Path | None, device: str) -> list[Path]:
    if folder is None:
        return []
    other = (DEVICES.keys() - {device, HOST}) | ASIDE
    sources = (p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file())
    return [p for p in sources if not other & set(p.relative_to(folder).parts[:-1])]


class _ContentHashes:
    """A table on disk from the hash of a file to the hash of what `compiled` keeps of it, because parsing every source takes
    seconds. Where it cannot be read or written the hashes are computed again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = _read(path)
        self.new = False

    def of(self, path: str) -> str:
        suffix = os.path.splitext(path)[1]
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        key = hashlib.sha256(suffix.encode() + b"\0" + content).hexdigest()[:24]
        if key not in self.entries:
            text = compiled(content.decode(errors="replace"), suffix)
            self.entries[key] = hashlib.sha256(text.encode()).hexdigest()[:24]
            self.new = True
        return self.entries[key]

    def keep(self) -> None:
        if not self.new:
            return
        with contextlib.suppress(OSError):
            put(self.path, json.dumps(dict(list(self.entries.items())[-LONGEST:])).encode())
        self.new = False


@cache
def _known(path: Path) -> _ContentHashes:
    return _ContentHashes(path)


def _read(path: Path) -> dict[str, str]:
    try:
        table = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    if isinstance(table, dict) and all(isinstance(each, str) for each in table.values()):
        return table
    return {}


def compiled(text: str, suffix: str) -> str:
    """What counts of a source: equal for two texts that differ only in comments, docstrings or the layout of Python."""
    if suffix != ".py":
        return WORDS.sub(lambda word: " " if word["comment"] else word[0], text)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    return ast.dump(_WithoutTexts().visit(tree))


class _WithoutTexts(ast.NodeTransformer):
    """Removes statements that are only a text: docstrings, also those below an assignment."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        match node.value:
            case ast.Constant(value=str()):
                return None
        return node
