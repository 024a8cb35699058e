"""Runs workloads under the sanitizers, and shows that these find errors in memory that the runtime manages, and races."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from backends.acrobat.codegen.build import RUNTIME
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.kernels.tests import reference
from backends.acrobat.tests import sanitize
from backends.acrobat.tests.sanitizers import ADDRESS, FOUND, ROOT, THREAD, Sanitizer

needed = pytest.mark.skipif(ADDRESS.unavailable() is not None, reason=str(ADDRESS.unavailable()))
threads_needed = pytest.mark.skipif(THREAD.unavailable() is not None, reason=str(THREAD.unavailable()))


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


@threads_needed
@pytest.mark.exhaustive
@pytest.mark.parametrize("kernels", ["reference", "tvm"])
@pytest.mark.parametrize("name", ["mvrnn", "nestedrnn"])
def test_a_workload_on_two_threads(cache: Path, name: str, kernels: str) -> None:
    result = sanitize.check(name, cache / "sanitized", kernels, THREAD)
    assert result.returncode == 0, result.stdout + result.stderr


@threads_needed
@pytest.mark.exhaustive
def test_a_race_of_kernels_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All the way from Python: each kernel counts its calls in a variable that its threads share."""
    right = reference.source
    planted = "(void)scratch; static int64_t calls; calls += 1;"
    monkeypatch.setattr(reference, "source", lambda *kernel: right(*kernel).replace("(void)scratch;", planted))
    result = sanitize.check("treernn", tmp_path, "reference", THREAD)
    assert result.returncode == FOUND, result.stdout + result.stderr
    assert "ThreadSanitizer: data race" in result.stderr


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


RACES = {
    "none": ("pool.run(100, [&](int piece, int) { done[piece] += 1; });", ""),
    "none: each thread has memory of its own": ("pool.run(100, [&](int, int thread) { done[thread] += 1; });", ""),
    "none: from launch to launch": (
        "for (int i = 0; i < 100; ++i) pool.run(4, [&](int piece, int) { done[(i + piece) % 7] += 1; });",
        "",
    ),
    "two pieces in one place": ("pool.run(2, [&](int, int) { done[0] += 1; });", "data race"),
    "a result that is read too early": (
        """std::atomic<bool> written = false;
           pool.run(2, [&](int piece, int) {
               if (piece) while (!written.load(std::memory_order_relaxed)) {}
               done[0] += 1;
               written.store(true, std::memory_order_relaxed);
           });""",
        "data race",
    ),
}
"""Work that two threads share, and what ThreadSanitizer says of it."""


USED = ("arena.cpp", "coroutine.cpp", "errors.cpp", "memory.cpp", "cpu/pool.cpp")
"""The sources of the runtime that mistakes and races need."""


def built(folder: Path, sanitizer: Sanitizer, cases: Iterable[str], before: str) -> Path:
    """A program that runs `before` and then the case whose number is its argument."""
    switch = "\n".join(f"case {i}: {{ {body} break; }}" for i, body in enumerate(cases))
    (folder / "main.cpp").write_text(
        f"""#include <atomic>
        #include <cstdlib>
        #include "coroutine.h"
        #include "cpu/pool.h"
        int main(int, char** arguments) {{
            {before}
            switch (std::atoi(arguments[1])) {{ {switch} }}
        }}"""
    )
    command = [compiler(), "-std=c++20", *sanitizer.flags, f"-I{RUNTIME}", "main.cpp"]
    command += [*(str(RUNTIME / name) for name in USED), "-o", "main", "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes the mistake whose number in `MISTAKES` is its argument."""
    before = """acrobat::Arena arena("test", size_t{1} << 30);
        acrobat::Frames frames(arena);
        char* row = static_cast<char*>(arena.take(64));
        char* next = static_cast<char*>(arena.take(64));
        char* frame = static_cast<char*>(frames.take(128));
        (void)row, (void)next, (void)frame;"""
    return built(tmp_path_factory.mktemp("mistakes"), ADDRESS, [body for body, _ in MISTAKES.values()], before)


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that has the race whose number in `RACES` is its argument."""
    before = """int done[100] = {};
        acrobat::Pool pool(2);
        pool.begin();"""
    return built(tmp_path_factory.mktemp("races"), THREAD, [body for body, _ in RACES.values()], before)


def assert_stops(program: Path, case: int, sanitizer: Sanitizer, report: str) -> None:
    """The program ends as the sanitizer ends it, with `report`; as usual if that is empty."""
    result = subprocess.run([program, str(case)], env=sanitizer.environment(), capture_output=True, text=True)
    assert result.returncode == (FOUND if report else 0), result.stderr
    assert report in result.stderr


@needed
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_sanitizers_stop(mistakes: Path, mistake: str) -> None:
    assert_stops(mistakes, list(MISTAKES).index(mistake), ADDRESS, MISTAKES[mistake][1])


@threads_needed
@pytest.mark.parametrize("race", RACES)
def test_the_thread_sanitizer_stops(races: Path, race: str) -> None:
    assert_stops(races, list(RACES).index(race), THREAD, RACES[race][1])


def test_a_compiler_without_sanitizers_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare-g++"
    bare.write_text("#!/bin/sh\n")
    bare.chmod(0o755)
    result = subprocess.run(
        [sys.executable, "-m", "backends.acrobat.tests.sanitize", "treelstm"],
        cwd=ROOT,
        env={**os.environ, "CXX": str(bare)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2, result.stderr
    assert "bare-g++ has no libasan.so; install the sanitizers" in result.stderr
