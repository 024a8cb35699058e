"""The cache of builds: reused, shared between processes, undamaged by a kill, and dispensable."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
import torch
from filelock import FileLock
from torch import Tensor, nn

from backends.acrobat import compile, versions
from backends.acrobat.builds import AT_RUN_TIME, GENERATION, IN_PROGRAM, IN_TARGET, Build
from backends.acrobat.codegen import build
from backends.acrobat.codegen.build import COMPLETE, cached
from backends.acrobat.codegen.module import collect_units
from backends.acrobat.core import toolchain
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.frontend import build as build_program
from backends.acrobat.kernels.cpu import kernel_cache
from backends.acrobat.kernels.cpu.emit import variants
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = """
import subprocess, sys
from pathlib import Path
from backends.acrobat.codegen import build
if sys.argv[2] == "forbid":
    def refuse(*_):
        raise AssertionError("the C++ compiler was called")
    build.compile_model = refuse
    from backends.acrobat import builds
    builds.compile_model = refuse
from backends.acrobat import compile
from backends.acrobat.codegen.tests.test_build import Small, instances, right
executable = compile(Small(), cache_folder=Path(sys.argv[1]), checked=True)
assert right(executable)
print(executable.folder, "tvm" in sys.modules)
"""


class Small(nn.Module):
    def __init__(self, words: int = 5) -> None:
        super().__init__()
        self.table = nn.Embedding(words, 4)
        self.layer = nn.Linear(4, 4)

    def forward(self, words: list[int]) -> list[Tensor]:
        return [torch.tanh(self.layer(self.table.weight[word])) for word in words]


def instances() -> list[list[int]]:
    return [[0, 1], [], [4]]


def right(executable: Any) -> bool:
    """Whether shapes are right and values finite. Each process draws parameters of its own, so values are not compared."""
    results = executable(instances())
    return [len(r) for r in results] == [2, 0, 1] and all(t.shape == (4,) and t.isfinite().all() for r in results for t in r)


def start(folder: Path, mode: str = "allow") -> subprocess.Popen[str]:
    """Compiles and runs the model in a process whose cache is `folder`. In mode "forbid" it must not call the C++ compiler."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), mode],
        cwd=ROOT,
        env={**os.environ, "ACROBAT_CACHE": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.split()


def compare(executable: Any, model: nn.Module) -> None:
    with torch.inference_mode():
        for got, words in zip(executable(instances()), instances(), strict=True):
            torch.testing.assert_close(got, model(words))


def test_two_processes_build_once_and_later_ones_not_at_all(tmp_path: Path) -> None:
    first, second = start(tmp_path), start(tmp_path)
    (folder, one), (other, two) = finish(first), finish(second)
    assert folder == other
    assert sorted([one, two]) == ["False", "True"]  # one built, the other waited and needed no TVM
    assert len(list(tmp_path.glob("*/manifest.json"))) == 1
    assert finish(start(tmp_path, "forbid")) == [folder, "False"]


def test_a_killed_build_is_built_again(tmp_path: Path) -> None:
    process = start(tmp_path)
    while process.poll() is None and not list(tmp_path.glob("*.building-*/model.cpp")):
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGKILL)  # the C++ compiler with it
    process.communicate()
    left = list(tmp_path.glob("*.building-*"))
    assert not list(tmp_path.glob(f"*/{COMPLETE}"))
    folder, _ = finish(start(tmp_path))
    assert left and not any(x.exists() for x in left) and Path(folder, COMPLETE).exists()


def test_an_incomplete_folder_is_built_again(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "result").write_text("new")

    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "result").write_text("half")
    assert (cached("key", make, tmp_path) / "result").read_text() == "new"
    assert cached("key", make, tmp_path) == tmp_path / "key"
    assert len(made) == 1


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "part").touch()
        raise BuildError("no")

    with pytest.raises(BuildError, match="no"):
        cached("key", make, tmp_path)
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


@pytest.mark.parametrize("below", [True, False])
def test_a_file_in_place_of_the_folder(tmp_path: Path, below: bool) -> None:
    (tmp_path / "file").touch()
    model = Small()
    with pytest.warns(UserWarning, match=r"file.* cannot be used .*: building in a temporary folder"):
        executable = compile(model, cache_folder=tmp_path / "file" / "cache" if below else tmp_path / "file")
    compare(executable, model)


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refuse)
    made: list[Path] = []
    with pytest.warns(UserWarning, match=os.strerror(code)):
        folder = cached("key", made.append, tmp_path / "cache")
    assert made == [folder] and folder.is_dir() and tmp_path not in folder.parents


def test_a_folder_in_which_nothing_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache folder exists, on a file system that is read only."""

    def refuse(self: FileLock, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), self.lock_file)

    build.runtime_build(toolchain.compiler(), ())  # in the user's cache folder, with a lock of its own
    monkeypatch.setattr(FileLock, "acquire", refuse)
    model = Small()
    with pytest.warns(UserWarning, match="Read-only file system"):
        executable = compile(model, cache_folder=tmp_path)
    assert tmp_path not in executable.folder.parents
    compare(executable, model)


def test_a_full_disk_everywhere_is_an_error(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.warns(UserWarning, match="No space left"), pytest.raises(BuildError, match="can hold the build: No space left"):
        cached("key", make, tmp_path)


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "nonexistent")
    with pytest.raises(BuildError, match=r"no C\+\+ compiler: nonexistent .* CXX"):
        compile(Small(), cache_folder=tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"g\+\+ or clang\+\+ is not on the PATH"):
        toolchain.compiler()


def test_a_failing_compiler_shows_its_message(tmp_path: Path) -> None:
    (tmp_path / "model.cpp").write_text("int f( {")
    with pytest.raises(BuildError, match="error"):
        build.compile_model(tmp_path / "model.cpp", [], tmp_path / "model.so")


def test_long_host_code_is_compiled_with_fewer_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(build, "runtime_build", lambda *_: tmp_path)
    monkeypatch.setattr(build, "run_compiler", lambda command, arguments, source: ran.append(list(arguments)))
    (longest, first), (longer, second) = build.FOR_LONG
    for length in (longer, longer + 1, longest, longest + 1):
        (tmp_path / "model.cpp").write_text("/" * length)
        build.compile_model(tmp_path / "model.cpp", [], tmp_path / "model.so", ("-Og",))
    short, *others = ran
    assert [[flag for flag in each if flag not in short] for each in others] == [[second], [second], [first]]
    assert all(each.index("-Og") > each.index(flag) for each, flag in zip(others, (second, second, first), strict=True)), (
        "the caller's flags win"
    )


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACROBAT_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("ACROBAT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == Path("/elsewhere/acrobat")


def test_a_user_without_a_home_has_a_folder_in_the_temporary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("ACROBAT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = cache_folder()
    assert folder.parent == Path(tempfile.gettempdir()) and str(os.getuid()) in folder.name


@pytest.mark.parametrize("name", ["model.so", "manifest.json", COMPLETE])
@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "missing"])
def test_a_damaged_build_is_built_again(tmp_path: Path, name: str, damage: str) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "model.so").write_bytes(b"ELF" * 100)
        (folder / "manifest.json").write_text('{"prefix": "acrobat"}')
        (folder / "kernel.o").write_bytes(b"object")

    folder = cached("key", make, tmp_path)
    file, content = folder / name, (folder / name).read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "garbage": b"x" + content[1:]}[damage])
    assert cached("key", make, tmp_path) == folder
    assert len(made) == 2
    assert file.exists() and (folder / "model.so").read_bytes() == b"ELF" * 100
    assert cached("key", make, tmp_path) == folder and len(made) == 2


def test_a_model_whose_shared_object_was_cut_runs(tmp_path: Path) -> None:
    model = Small()
    folder = compile(model, cache_folder=tmp_path).folder
    library = folder / "model.so"
    whole = library.read_bytes()
    library.unlink()  # not overwritten: this process still runs code of the old file
    library.write_bytes(whole[:1000])
    compare(compile(model, cache_folder=tmp_path), model)
    assert library.stat().st_size > 1000


def test_two_kernels_of_one_name_are_an_error(tmp_path: Path) -> None:
    def clash(*args: Any) -> Any:
        (variant,) = variants(*args)
        return (replace(variant, emitted=replace(variant.emitted, symbol="k_same")),)

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x: Annotated[Tensor, 4]) -> Tensor:
            return self.b(self.a(x))

    with pytest.raises(RuntimeError, match="two kernels have the symbol k_same"):
        compile(Two(), cache_folder=tmp_path, emit=clash, options=Options(coarsen=False, vertical=False))


@pytest.mark.parametrize(("what", "in_inputs"), [("code_generator", True), ("source_hash", True), ("cpp_compiler", False)])
def test_the_key_has_the_versions(what: str, in_inputs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    description = Build(optimise(build_program(Small()), Options()), Options(), CpuTarget.detect())
    before = description.key, description.inputs
    monkeypatch.setattr(versions, what, lambda: "another version")
    assert before[0] != description.key
    assert (before[1] != description.inputs) == in_inputs


def test_the_key_has_all_sources() -> None:
    """Every file of the package is of a kind that `source_hash` reads, or a document."""
    files = [p for p in versions.ROOT.rglob("*") if p.is_file() and not {"tests", "__pycache__"} & {*p.parts}]
    kinds = {p.suffix for p in files} - {".pyc"}
    assert {*versions.SOURCES} <= kinds <= {*versions.SOURCES, ".md"}


def test_comments_docstrings_and_tests_do_not_count_in_the_hash_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tests" / "acrobat"
    monkeypatch.setattr(versions, "ROOT", root)
    monkeypatch.setattr(kernel_cache, "SOURCES", (root / "kernels",))
    texts = {"kernels/a.py": '"""Of a."""\nx = 1  # why\n', "run.h": "int x; // why\n", "tests/b.py": ""}

    def hashes(**changed: str) -> tuple[str, str]:
        for name, text in {**texts, **changed}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return versions.source_hash.__wrapped__(), kernel_cache.sources_hash.__wrapped__()

    before = hashes()
    assert hashes(**{"kernels/a.py": '"""Of A."""\n\nx = 1\n', "run.h": "int x; /* because */\n", "tests/b.py": "y"}) == before
    python, cpp = hashes(**{"kernels/a.py": "x = 2\n"}), hashes(**{"run.h": "int y;\n"})
    assert python[0] != before[0] and python[1] != before[1]
    assert cpp[0] not in (before[0], python[0]) and cpp[1] == before[1]


class Read(Options):
    """Options that note which of them are read, in `names`."""

    names: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in Options.__dataclass_fields__:
            Read.names.add(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_the_key_has_all_options_that_generation_reads(codegen: Literal["aot", "vm"]) -> None:
    options = Read(codegen=codegen)
    description = Build(optimise(build_program(Small()), Options()), options, CpuTarget.detect())
    Read.names.clear()
    description.generate()
    read = {*Read.names}
    assert {"codegen", "merge_steps", "hoist"} <= read <= {*GENERATION}
    named = IN_PROGRAM | IN_TARGET | AT_RUN_TIME
    assert len(named) == sum(map(len, (IN_PROGRAM, IN_TARGET, AT_RUN_TIME)))
    assert named <= {f.name for f in fields(Options)}


def test_the_key_has_all_of_the_description() -> None:
    program, target = optimise(build_program(Small()), Options()), CpuTarget.detect()
    first = Build(program, Options(), target)
    (request, *_) = collect_units(program).requests()
    tried = (0, replace(KernelSchedule.default(request.kernel, target), rows=3))
    others = {
        "program": optimise(build_program(Small(words=7)), Options()),
        "options": Options(hoist=False),
        "target": CpuTarget("other", target.lanes),
        "schedules": {request: (tried,)},
        "flags": ("-O1",),
        "emit": test_the_key_has_all_of_the_description,
        "prefix": "other",
    }
    assert others.keys() == {f.name for f in fields(Build)}
    assert len({first.key, *(replace(first, **{name: other}).key for name, other in others.items())}) == 1 + len(others)  # type: ignore[arg-type]


def test_what_the_cache_has_needs_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Small()
    compile(model, cache_folder=tmp_path).close()
    monkeypatch.setenv("CXX", "nonexistent")
    executable = compile(model, cache_folder=tmp_path)
    assert right(executable)
    executable.close()
    with pytest.raises(BuildError, match=r"no C\+\+ compiler: nonexistent"):
        compile(model, cache_folder=tmp_path, options=Options(hoist=False, coarsen=False, vertical=False))
