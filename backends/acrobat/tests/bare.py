"""Imitates the few Python packages of a machine with a GPU, to test `scripts/gpu` on another machine.

`python -m backends.acrobat.tests.bare FOLDER` writes a `sitecustomize.py` to the folder. With the folder on PYTHONPATH, only
PyTorch with its requirements, numpy, and the packages that `scripts/gpu` brings can be imported.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

FOR_CUDA = ("nvidia-cuda-nvrtc", "cuda-bindings")
"""Packages that PyTorch for CUDA requires and PyTorch for the processor does not."""

TEXT = '''"""Written by backends/acrobat/tests/bare.py."""
import sys

LACKS = frozenset({lacks!r})


class Lacks:
    """Stands before all other finders."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in LACKS:
            raise ModuleNotFoundError(f"No module named {{name!r}}: a bare machine with a GPU has none", name=name)


sys.meta_path.insert(0, Lacks)
'''


def brought() -> list[str]:
    """The packages that `scripts/gpu` brings, read from its list `needed`."""
    found = re.search(r"^needed=\((.*)\)$", (ROOT / "scripts" / "gpu").read_text(), re.MULTILINE)
    assert found, "scripts/gpu has no list `needed`"
    return [re.split(r"[=<>]", each)[0] for each in found[1].split()]


def with_requirements(packages: list[str]) -> set[str]:
    """The normalised names of the packages and of all that they require, directly or not, as far as it is installed."""
    found: set[str] = set()
    todo = [normalised(each) for each in packages]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        todo += [normalised(re.split(r"[^A-Za-z0-9._-]", r)[0]) for r in requirements if "extra ==" not in r]
    return found


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lacks() -> set[str]:
    """The installed top-level modules that a bare machine lacks."""
    kept = with_requirements(["torch", "numpy", *FOR_CUDA]) | {normalised(each) for each in brought()}
    names = metadata.packages_distributions()
    others = {module for module, owners in names.items() if not kept & {normalised(owner) for owner in owners}}
    return {module for module in others if not (ROOT / module).exists()}  # the project itself may be installed


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(TEXT.format(lacks=sorted(lacks())))


if __name__ == "__main__":
    main()
