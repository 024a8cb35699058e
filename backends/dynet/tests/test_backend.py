"""Tests that do not start DyNet."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from backends.dynet import engine, pool
from backends.dynet.backend import Compiled, DyNet
from backends.dynet.interleave import Interleaving, Task, decide
from backends.dynet.profile import Profile
from bench import api
from bench.compose import compose
from bench.config import cells
from bench.contract import Target, Unsupported
from bench.options import ConfigError
from workloads.decisions import choose
from workloads.tests.conftest import spec


def test_best_is_three_variants() -> None:
    assert DyNet(Target()).variants() == [{"autobatch": 1}, {"autobatch": 2}, {"autobatch": 3}]
    assert DyNet(Target(), autobatch=2).variants() == [{}]


def test_strategies_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="autobatch is best, 0, 1, 2 or 3, not 4"):
        DyNet(Target(), autobatch=4)  # type: ignore[arg-type]


def test_own_build_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("_dynet")
    module.__file__ = "/own/_dynet.so"
    own = ModuleType("dynet")
    own.__dict__.update(__version__="2.1", __gitversion__="")  # as in a build of the sources from PyPI
    monkeypatch.setitem(sys.modules, "_dynet", module)
    monkeypatch.setitem(sys.modules, "dynet", own)
    monkeypatch.setattr(engine, "_needs", lambda library: False)
    assert engine.library.__wrapped__() == "Eigen in a DyNet 2.1 of its own build"
    own.__dict__["__gitversion__"] = "c418b09d"
    assert engine.library.__wrapped__() == "Eigen in a DyNet 2.1 (c418b09d) of its own build"


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_dynet", None)
    reason = DyNet(Target()).available()
    assert reason is not None
    assert reason.startswith("DyNet cannot be imported")


@pytest.mark.skipif(find_spec("_dynet") is None, reason="DyNet is not installed")
def test_available() -> None:
    assert DyNet(Target()).available() is None
    assert DyNet(Target(device="cuda")).available() in (None, "the installed DyNet has no CUDA")


@pytest.mark.skipif(find_spec("_dynet") is None, reason="DyNet is not installed")
def test_asking_whether_it_is_available_does_not_start_it() -> None:
    """In a separate process, because other tests of this process may have started DyNet."""
    code = (
        "import sys; from backends.dynet.backend import DyNet; from bench.contract import Target; "
        "assert DyNet(Target()).available() is None; assert 'dynet' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_workload_without_a_program() -> None:
    class Other:
        name = "other"

    with pytest.raises(Unsupported, match="there is no best DyNet program for other"):
        DyNet(Target()).compile(Other(), "tiny", 0, 1)  # type: ignore[arg-type]


def test_each_minibatch_has_a_profile_of_its_own() -> None:
    """Instances that are freed after their mini-batch may pass their identity on to later ones."""

    class FakeProfiler:
        batches = 0

        def profile(self, run: object) -> Profile:
            self.batches += 1
            return Profile(self.batches, self.batches, {}, None)

    compiled = Compiled(None, None, Target(), autobatch=0, grow=False)  # type: ignore[arg-type]
    compiled.profiler = FakeProfiler()  # type: ignore[assignment]
    profiles = [compiled._profile([object()])[0] for _ in range(10)]
    assert [profile and profile.batches for profile in profiles] == list(range(1, 11))
    kept = [object()]
    assert compiled._profile(kept) == compiled._profile(kept) == (Profile(11, 11, {}, None), None)


@pytest.mark.parametrize(("batch_size", "larger"), [(1, 2), (8, 11), (64, 72), (1024, 1056)])
def test_the_mini_batch_that_pools_grow_by_is_larger(batch_size: int, larger: int) -> None:
    instances = list(range(3 * batch_size))
    assert pool.larger(instances, batch_size) == instances[:larger]
    assert pool.larger(["only"], 4) == ["only"] * 6


def test_tables_and_strategies_are_variants_of_their_own() -> None:
    variants = DyNet(Target(), tables="both").variants()
    assert len(variants) == 6
    assert {(v["autobatch"], v["tables"]) for v in variants} == {(n, t) for n in (1, 2, 3) for t in (False, True)}
    assert DyNet(Target(), autobatch=1, tables="both").variants() == [{"tables": False}, {"tables": True}]


def test_naive_formulations_are_for_the_documented_strategies() -> None:
    assert DyNet(Target(), formulation="naive").variants() == [{"autobatch": 1}, {"autobatch": 2}]
    for options in ({"autobatch": 3}, {"tables": True}):
        with pytest.raises(Unsupported, match="naive formulations are for autobatch 0, 1 and 2, and without tables"):
            DyNet(Target(), formulation="naive", **options).compile(spec("treelstm"), "tiny", 0, 1)


def test_a_folder_without_dynet(tmp_path: Path) -> None:
    reason = DyNet(Target(), path=str(tmp_path)).available()
    assert reason is not None
    assert "no _dynet*.so in " in reason
    (tmp_path / "_dynet.so").write_text("nothing")
    assert "no dynet.py in " in str(DyNet(Target(), path=str(tmp_path)).available())
    assert "no _dynet*.so in " in str(DyNet(Target(), path=str(tmp_path / "missing")).available())


def test_a_folder_without_dynet_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"backend.dynet: path=\S+: no _dynet\*.so is in it"):
        cells(compose(["backend=[dynet]", f"backend.dynet.path={tmp_path}"]))
    with pytest.raises(ConfigError, match="no such folder"):
        cells(compose(["backend=[dynet]", f"backend.dynet.path={tmp_path}/missing"]))


def test_a_broken_build_is_a_reason(tmp_path: Path) -> None:
    """In a separate process, because `available` adds the folder to the import path."""
    for name in ("dynet.py", "dynet_config.py", "_dynet.so"):
        (tmp_path / name).write_text("raise RuntimeError")
    (tmp_path / "libdynet.so").write_text("no library")
    code = "import sys; from backends.dynet.backend import *; print(DyNet(Target(), path=sys.argv[1]).available())"
    completed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    assert completed.startswith("DyNet cannot be imported (")
    assert "libdynet.so" in completed


def test_a_build_counts_by_its_files_and_not_by_where_it_lies(tmp_path: Path) -> None:
    def cell_id(folder: Path) -> str:
        overrides = ("backend.dynet.autobatch=1", f"backend.dynet.path={folder}")
        return api.cells("workload=treelstm", "backend=[dynet]", *overrides)[0].id

    made = []
    for name, text in (("one", "first build"), ("two", "first build"), ("three", "another build")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "_dynet.so").write_text(text)
        made.append(cell_id(folder))
    assert made[0] == made[1] != made[2]


@pytest.mark.skipif(find_spec("_dynet") is None, reason="DyNet is not installed")
def test_a_build_in_a_folder_is_the_one_that_runs(tmp_path: Path) -> None:
    """A copy of the installed one, in a separate process, as DyNet is started once in a process."""
    module = Path(str(find_spec("_dynet").origin))  # type: ignore[union-attr]
    for path in (module, module.parent / "dynet.py", module.parent / "dynet_config.py"):
        shutil.copy(path, tmp_path)
    for folder in module.parent.glob("dy[nN][eE][tT]*.libs"):  # where the module looks for its libraries, beside itself
        shutil.copytree(folder, tmp_path / folder.name)
    for library in module.parent.glob("libdynet*.so*"):
        shutil.copy(library, tmp_path)
    code = (
        "import sys; from backends.dynet import engine; engine.start(1, 64, 16, 'cpu', sys.argv[1]); import _dynet; "
        "print(_dynet.__file__, engine.loaded_library('libdynet'), engine.library(), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded, dependency, said = done.stdout.splitlines()
    assert Path(loaded) == tmp_path / module.name
    assert Path(dependency).is_relative_to(tmp_path)
    assert said.endswith(" of its own build"), said


class FakeGraph:
    """Stands in for a graph: the value of an expression, here a number, is ten times that number."""

    def __init__(self) -> None:
        self.waits: list[list[Any]] = []

    def values(self, wanted: list[Any], also: Any = ()) -> list[Any]:
        if wanted:
            self.waits.append(list(wanted))
        return [value * 10 for value in wanted]


def test_all_wait_together_and_forks_with_them() -> None:
    tasks, graph, seen = Interleaving(), FakeGraph(), []

    def task(name: int, waits: int) -> Task:
        for i in range(waits):
            value = yield name + i
            seen.append((name, value))
            if name == 100 and i == 0:
                tasks.start(task(500, 2))

    tasks.start(task(100, 3))
    tasks.start(task(200, 1))
    tasks.start(task(300, 0))
    tasks.run(graph)  # type: ignore[arg-type]
    assert graph.waits == [[100, 200], [101, 500], [102, 501]]
    assert seen == [(100, 1000), (200, 2000), (100, 1010), (500, 5000), (100, 1020), (500, 5010)]


def test_nobody_waits() -> None:
    graph = FakeGraph()
    Interleaving().run(graph)  # type: ignore[arg-type]
    assert graph.waits == []


def test_decisions_are_the_workloads() -> None:
    for key in range(50):
        assert decide(0.3, 2, 9, key, real=False) == choose(key, 2, 9)
    for value in np.linspace(0, 1, 21).tolist():
        assert decide(value, 0, 3, 7, real=True) == min(int(value * 4), 3)
