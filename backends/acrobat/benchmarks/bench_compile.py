"""Times the stages of compiling a model: front end, passes, kernels, host code, and loading a build from the cache.
`scripts/benchmark compile` runs it.

Each stage runs alone, on the results of the stage before, and without any cache except the compiled runtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from backends.acrobat import compile
from backends.acrobat.builds import Build
from backends.acrobat.codegen.build import compile_model
from backends.acrobat.codegen.module import collect_units
from backends.acrobat.frontend import build
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from bench import targets
from workloads.spec import loaded

WORKLOADS = ("treelstm", "birnn", "stackrnn", "berxit")
ROUNDS = 3


@pytest.fixture(params=WORKLOADS)
def module(request: pytest.FixtureRequest) -> Any:
    return loaded(targets.resolve(f"workloads.{request.param}.spec.Spec")(), "small", 0)


def test_front_end(benchmark: BenchmarkFixture, module: Any) -> None:
    benchmark.pedantic(build, args=(module,), rounds=ROUNDS)


def test_passes(benchmark: BenchmarkFixture, module: Any) -> None:
    benchmark.pedantic(optimise, args=(build(module), Options()), rounds=ROUNDS)


def test_kernels(benchmark: BenchmarkFixture, module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    requests = collect_units(optimise(build(module), Options())).requests()
    target = CpuTarget.detect()
    benchmark.name = f"{benchmark.name}: {len(requests)} kernels"

    folders = iter(range(2))

    def kernels() -> None:
        emit.cache_clear()
        monkeypatch.setenv("ACROBAT_CACHE", str(tmp_path / str(next(folders))))
        for request in requests:
            emit(request.kernel, request.out_mode, target)

    benchmark.pedantic(kernels, rounds=1, warmup_rounds=1)


def test_host_code(benchmark: BenchmarkFixture, module: Any, tmp_path: Path) -> None:
    """The C++ compiler and the linker, run on the files that a build has left in its folder."""
    Build(optimise(build(module), Options()), Options(), CpuTarget.detect()).make(tmp_path)
    source, objects = tmp_path / "model.cpp", sorted(tmp_path.glob("*.o"))
    benchmark.pedantic(compile_model, args=(source, objects, tmp_path / "again.so"), rounds=ROUNDS, warmup_rounds=1)


def test_from_the_cache(benchmark: BenchmarkFixture, module: Any, tmp_path: Path) -> None:
    compile(module, cache_folder=tmp_path)
    benchmark.pedantic(compile, args=(module,), kwargs={"cache_folder": tmp_path}, rounds=ROUNDS)
