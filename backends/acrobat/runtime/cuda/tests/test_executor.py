"""The CUDA executor on the emulated driver, without Python and without generated kernels: `host.cpp` runs chains of additions
with the hand-written `module.cpp`. Each mistake that is planted in the executor has to make one of its cases fail."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backends.acrobat.codegen.build import RUNTIME
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.runtime.cuda.tests import emulated
from backends.acrobat.tests.sanitizers import ADDRESS

HERE = Path(__file__).parent
CASES = ("plain", "explicit", "checked", "waits", "early", "behind", "streams", "errors", "opening")
SHARED = (
    *("arena", "bucket", "context", "device", "errors", "execution", "frontier", "materialised", "memory"),
    *("planning", "policy", "run_limits", "stage", "tracking", "values"),
)
"""The parts of the runtime that both devices have and that need no Python."""
CUDA = ("driver", "executor", "plan", "staging")


def built(folder: Path, text: str, include: Path, *options: str) -> Path:
    """Compiles a source text, in a folder without headers (so only those of `include` are found), to an object."""
    path = folder / f"{abs(hash((text, options)))}.cpp"
    path.write_text(text)
    command = [compiler(), "-std=c++20", "-O0", "-g", *options, "-fPIC", f"-I{include}", f"-I{include.parent}", "-c", str(path)]
    subprocess.run([*command, "-o", str(path.with_suffix(".o"))], check=True)
    return path.with_suffix(".o")


def module(folder: Path, *options: str) -> Path:
    command = [compiler(), "-std=c++20", "-O0", "-g", "-fPIC", "-shared", *options, str(HERE / "module.cpp")]
    subprocess.run([*command, "-o", str(folder / "module.so")], check=True)
    return folder / "module.so"


def linked(folder: Path, name: str, objects: list[Path], *options: str) -> Path:
    subprocess.run([compiler(), *options, *map(str, objects), "-o", str(folder / name), "-ldl"], check=True)
    return folder / name


class Parts:
    """The objects of the test program, in which other texts may replace single sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = module(folder)
        self.driver = emulated.library()
        common = "".join(f'#include "{name}.cpp"\n' for name in SHARED)
        texts = {"common": common, "host": f'#include "{HERE / "host.cpp"}"\n'}
        texts |= {name: f'#include "cuda/{name}.cpp"\n' for name in CUDA}
        with ThreadPoolExecutor(2) as pool:
            self.objects = dict(zip(texts, pool.map(lambda t: built(folder, t, RUNTIME), texts.values()), strict=True))

    def program(self, name: str, **changed: str) -> Path:
        objects = self.objects | {part: built(self.folder, text, RUNTIME / "cuda") for part, text in changed.items()}
        return linked(self.folder, name, list(objects.values()))

    def run(self, program: Path, case: str, mode: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, emulated.VARIABLE: str(self.driver)}
        command = [str(program), str(self.module), case, mode]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return Parts(tmp_path_factory.mktemp("executor"))


@pytest.mark.parametrize("mode", ["walk", "launches"])
@pytest.mark.parametrize("case", CASES)
def test_a_case(parts: Parts, case: str, mode: str) -> None:
    program = parts.folder / "right"
    if not program.exists():
        parts.program("right")
    result = parts.run(program, case, mode)
    assert result.returncode == 0, result.stdout + result.stderr


MISTAKES = {
    "a barrier is missing": ("plan", "barriers_ += step.barrier;", "step.barrier = 0;", "plain"),
    "the order of a unit's calls is lost": ("plan", "chains_[at - 1] > chain", "false", "plain"),
    "nobody waits for what the device tells": ("executor", "if (!has_words(required)) wait_for(required);", "", "waits"),
    "the host is told before a value is computed": (
        "executor",
        "    plan_->next_level();\n    tell();\n    place_",
        "    tell();\n    plan_->next_level();\n    place_",
        "waits",
    ),
    "an answer to an earlier question is taken": ("executor", "!= tag_) return", "== 0) return", "waits"),
    "staging is used again too early": (
        *("executor", 'check(Driver::get().cuEventSynchronize(uploaded_->get()), "waiting for an upload");', "", "behind"),
    ),
    "more blocks are launched than fit": ("executor", "std::min(blocks, image.resident)", "image.resident", "opening"),
    "a stream does not wait for the other": ("executor", "if (in_use_) check(", "if (false) check(", "streams"),
    "what is written later is not uploaded": ("staging", "if (b.used == b.uploaded)", "if (b.uploaded)", "waits"),
    "the host writes to the device's memory": (
        "plan",
        "*to++ = rows[i];",
        "*const_cast<int64_t*>(table.device) = 0;",
        "explicit",
    ),
    "intermediates are given back too early": (
        *("plan", "return cx_.place(elements);", "cx_.tensors.release_to(mark_); return cx_.place(elements);", "explicit"),
    ),
}
"""For each mistake: the part, the text that is replaced in it, the replacement, and the case that then fails."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(parts: Parts, mistake: str) -> None:
    part, right, wrong, case = MISTAKES[mistake]
    text = (RUNTIME / "cuda" / f"{part}.cpp").read_text()
    assert text.count(right) == 1, f"{part}.cpp has changed: plant this mistake anew"
    result = parts.run(parts.program("wrong", **{part: text.replace(right, wrong)}), case, "walk")
    signs = ("wrong: the results", "wrong: CUDA: the device has ended its work without an answer", "wrong: CUDA: launching")
    seen = result.stderr.startswith(signs)
    assert (result.returncode == 1 and seen) or result.returncode == -signal.SIGSEGV, result


@pytest.mark.skipif(ADDRESS.unavailable() is not None, reason=str(ADDRESS.unavailable()))
def test_the_sanitizers_find_nothing(tmp_path: Path) -> None:
    options = [o for o in ADDRESS.flags if o.startswith("-f")]
    sources = "".join(f'#include "{name}.cpp"\n' for name in SHARED) + "".join(f'#include "cuda/{name}.cpp"\n' for name in CUDA)
    text = sources + f'#include "{HERE / "host.cpp"}"\n'
    program = linked(tmp_path, "sanitized", [built(tmp_path, text, RUNTIME, *options)], *options)
    kernels = module(tmp_path, *options)
    environment = {**os.environ, emulated.VARIABLE: str(emulated.library()), "ASAN_OPTIONS": "detect_leaks=0"}
    for case in CASES:
        command = [str(program), str(kernels), case, "walk"]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, f"{case}: {result.stdout}{result.stderr}"
