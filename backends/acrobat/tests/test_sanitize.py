"""Runs two workloads under the sanitizers, and shows that the sanitizers find errors in memory that the runtime manages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backends.acrobat.codegen.build import RUNTIME
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.tests import sanitize

needed = pytest.mark.skipif(sanitize.unavailable() is not None, reason=str(sanitize.unavailable()))


@needed
@pytest.mark.parametrize("name", ["treelstm", "drnn"])
def test_a_workload(cache: Path, name: str) -> None:
    result = sanitize.check(name, cache / "sanitized")
    assert result.returncode == 0, result.stdout + result.stderr


@needed
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["treelstm", "drnn"])
def test_a_workload_on_the_emulated_cuda_device(cache: Path, name: str) -> None:
    result = sanitize.check(name, cache / "sanitized", "cuda")
    assert result.returncode == 0, result.stdout + result.stderr


MISTAKES = {
    "none": ("for (int i = 0; i < 64; ++i) row[i] = 1; next[0] = row[63];", ""),
    "none: a piece of parallel work may throw": (
        """acrobat::Pool pool(2);
           pool.begin();
           auto fails = [](int piece, int) { if (piece % 3 == 1) throw std::runtime_error("piece"); };
           for (int i = 0; i < 100; ++i) try { pool.run(7, fails); return 1; } catch (const std::runtime_error&) {}
           std::atomic<int> done = 0;
           pool.run(7, [&](int, int) { done += 1; });
           pool.end();
           if (done != 7) return 1;""",
        "",
    ),
    "past the end": ("row[64] = 1;", "use-after-poison"),
    "before the start": ("next[-1] = 1;", "use-after-poison"),
    "after a reset": ("arena.reset(); row[0] = 1;", "use-after-poison"),
    "in a block that was given back": ("arena.take(2 << 20); arena.reset(); row[0] = 1;", "AddressSanitizer"),
    "a coroutine's frame that has ended": ("frames.give(frame, 128); frame[64] = 1;", "use-after-poison"),
    "an int that overflows": ("volatile int n = 0x7fffffff; n = n + 1;", "signed integer overflow"),
}


USED = ("arena.cpp", "coroutine.cpp", "errors.cpp", "memory.cpp", "cpu/pool.cpp")
"""The sources of the runtime that the mistakes need."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes the mistake whose number in `MISTAKES` is its argument."""
    folder = tmp_path_factory.mktemp("mistakes")
    cases = "\n".join(f"case {i}: {{ {body} break; }}" for i, (body, _) in enumerate(MISTAKES.values()))
    (folder / "main.cpp").write_text(
        f"""#include <atomic>
        #include <cstdlib>
        #include "coroutine.h"
        #include "cpu/pool.h"
        int main(int, char** arguments) {{
            acrobat::Arena arena("test", size_t{{1}} << 30);
            acrobat::Frames frames(arena);
            char* row = static_cast<char*>(arena.take(64));
            char* next = static_cast<char*>(arena.take(64));
            char* frame = static_cast<char*>(frames.take(128));
            switch (std::atoi(arguments[1])) {{ {cases} }}
            (void)row, (void)next, (void)frame;
        }}"""
    )
    command = [compiler(), "-std=c++20", *sanitize.FLAGS, f"-I{RUNTIME}", "main.cpp"]
    command += [*(str(RUNTIME / name) for name in USED), "-o", "main", "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


@needed
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_sanitizers_stop(program: Path, mistake: str) -> None:
    number, (_, report) = list(MISTAKES).index(mistake), MISTAKES[mistake]
    result = subprocess.run([program, str(number)], env=sanitize.options(), capture_output=True, text=True)
    assert result.returncode == (sanitize.FOUND if report else 0), result.stderr
    assert report in result.stderr


def test_a_compiler_without_sanitizers_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare-g++"
    bare.write_text("#!/bin/sh\n")
    bare.chmod(0o755)
    result = subprocess.run(
        [sys.executable, "-m", "backends.acrobat.tests.sanitize", "treelstm"],
        cwd=sanitize.ROOT,
        env={**os.environ, "CXX": str(bare)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2, result.stderr
    assert "bare-g++ has no libasan.so; install the sanitizers" in result.stderr
