"""The versions of all that makes code: this compiler, the C++ compiler, TVM and the LLVM within it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from backends.acrobat.core.toolchain import compiler, compiler_version

ROOT = Path(__file__).parent
SOURCES = (".py", ".h", ".cpp", ".cuh")


@cache
def source_hash() -> str:
    """A hash of this compiler's own source but for its tests, with the C++ and CUDA that generated code is built with."""
    digest = hashlib.sha256()
    for path in sorted(p for kind in SOURCES for p in ROOT.rglob(f"*{kind}")):
        if "tests" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def code_generator() -> str:
    """A hash of the installed TVM, which has LLVM in it: of the list of its files and their hashes, without importing it."""
    text = ""
    for name in ("apache-tvm", "apache-tvm-ffi"):
        try:
            found = distribution(name)
            text += f"{name} {found.version} {found.read_text('RECORD')}"
        except PackageNotFoundError:
            text += f"{name} is not installed"
    return hashlib.sha256(text.encode()).hexdigest()


def cpp_compiler() -> str:
    """The first line of the C++ compiler's `--version`. Raises BuildError if there is none."""
    return compiler_version(compiler())
