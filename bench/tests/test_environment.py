"""The environment variables of a measured process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import api, environment
from bench.environment import child_environment, performance, validated_variables, withheld_variables
from bench.options import ConfigError

SHELL = {
    "PATH": "/bin",
    "CUDA_VISIBLE_DEVICES": "0",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "SSE2",
    "ATEN_CPU_CAPABILITY": "default",
    "DNNL_MAX_CPU_ISA": "SSE41",
    "OMP_WAIT_POLICY": "active",
    "OMP_NUM_THREADS": "7",
    "MALLOC_ARENA_MAX": "1",
    "GLIBC_TUNABLES": "glibc.malloc.check=3",
    "LD_PRELOAD": "libjemalloc.so",
}


def test_what_tunes_libraries_is_not_passed_on() -> None:
    made = child_environment(2, {}, SHELL)
    assert made["PATH"] == "/bin"
    assert made["CUDA_VISIBLE_DEVICES"] == "0"
    assert made["OMP_NUM_THREADS"] == made["MKL_NUM_THREADS"] == "2"
    assert "check" not in made.get("GLIBC_TUNABLES", "")
    assert not set(made) & {"OPENBLAS_CORETYPE", "MKL_CBWR", "ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "OMP_WAIT_POLICY"}
    assert not set(made) & {"MALLOC_ARENA_MAX", "LD_PRELOAD"}
    assert withheld_variables({}, SHELL) == sorted(set(SHELL) - {"PATH", "CUDA_VISIBLE_DEVICES"})


def test_what_is_given_on_purpose_is_passed_on_and_counts_more() -> None:
    given = {"OPENBLAS_CORETYPE": "SkylakeX", "OMP_NUM_THREADS": "1"}
    made = child_environment(2, given, SHELL)
    assert made["OPENBLAS_CORETYPE"] == "SkylakeX"
    assert made["OMP_NUM_THREADS"] == "1"
    assert made["MKL_NUM_THREADS"] == "2"
    assert "OPENBLAS_CORETYPE" not in withheld_variables(given, SHELL)


@pytest.mark.parametrize(
    ("kernel", "asked"), [("always [madvise] never\n", True), ("[always] madvise never\n", False), (None, False)]
)
def test_the_c_library_asks_for_huge_pages_where_programs_must(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kernel: str | None, asked: bool
) -> None:
    setting = tmp_path / "enabled"
    if kernel is not None:
        setting.write_text(kernel)
    monkeypatch.setattr(environment, "HUGE_PAGES", setting)
    assert (performance(1, {}).get("GLIBC_TUNABLES") == "glibc.malloc.hugetlb=1") is asked
    assert performance(1, {"GLIBC_TUNABLES": "mine"})["GLIBC_TUNABLES"] == "mine"


@pytest.mark.parametrize("given", [{"PYTHONPATH": "x"}, {"A=B": "x"}, {"A": None}, {"A": [1]}, {"A": True}, {"": "x"}])
def test_what_is_no_variable_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"isolate\.env"):
        validated_variables(given)


def test_given_variables_are_part_of_the_cell() -> None:
    plain = api.cells("workload=treelstm", "backend=[pytorch]")[0]
    given = api.cells("workload=treelstm", "backend=[pytorch]", "+isolate.env.MKL_CBWR=AVX2", "+isolate.env.OMP_X=3")[0]
    assert given.env == {"MKL_CBWR": "AVX2", "OMP_X": "3"}
    assert given.id != plain.id
    assert given.canonical()["env"] == given.env
    assert replace(given, env={}).id == plain.id
    with pytest.raises(ConfigError, match="the harness sets this one itself"):
        api.cells("workload=treelstm", "backend=[pytorch]", "+isolate.env.PYTHONPATH=x")


def test_a_process_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("BENCH_OTHER", "kept")
    command = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    done = subprocess.run(command, env=child_environment(3, {"MKL_CBWR": "AVX2"}), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert "OPENBLAS_CORETYPE" not in found
    assert (found["BENCH_OTHER"], found["MKL_CBWR"], found["OMP_NUM_THREADS"]) == ("kept", "AVX2", "3")


def test_the_command_says_what_it_does_not_pass_on(
    bench: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    done = bench("backend=[honest]", "measure=quick")
    assert done.returncode == 0, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("not passed on to what is measured, ")]
    assert "OPENBLAS_CORETYPE" in said
