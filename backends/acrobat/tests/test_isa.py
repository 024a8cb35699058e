"""The instruction set of kernels as an option, and the facts that the backend reports about what ran."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch

from backends.acrobat.backend import Acrobat
from backends.acrobat.codegen import blas
from backends.acrobat.kernels.cpu import target
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.measured_model import Compiled
from backends.acrobat.options import Options
from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny
from bench.contract import Target

AVX2 = Options(isa="avx2")
WIDE = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]\b")
"""Registers that only AVX-512 has: of 512 bits, the upper sixteen of other widths, and masks."""


def disassembly(executable: Any) -> str:
    if not (objdump := shutil.which("objdump")):
        pytest.skip("objdump (binutils) is not installed")
    command = [objdump, "-d", "--no-show-raw-insn", str(executable.folder / "model.so")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["treelstm", "mvrnn", "berxit"])
def test_avx2_uses_no_wider_instructions_and_is_right(built: Callable[..., Any], name: str) -> None:
    """These three workloads use all templates of kernels, and host code with and without waits."""
    executable = built(name, options=AVX2)
    found = WIDE.findall(disassembly(executable))
    assert not found
    instances = [*draw(name, 5), *edges(name)]
    assert_same(executable(instances), eager(tiny(name, torch.float64), instances))


def test_avx2_has_the_tiles_of_its_registers(built: Callable[..., Any]) -> None:
    schedules = [k["schedule"] for k in built("birnn", options=AVX2).manifest["kernels"].values()]
    assert {s["rows"] for s in schedules if s["template"] == "gemm"} == {6}  # with AVX-512 it is 8


def test_native_is_the_widest_the_processor_has(built: Callable[..., Any]) -> None:
    native = built("birnn")
    wide = CpuTarget.detect().instruction_set == "avx512"
    assert (native.folder != built("birnn", options=AVX2).folder) is wide
    assert bool(WIDE.search(disassembly(native))) is wide
    if wide:
        assert native.folder == built("birnn", options=Options(isa="avx512")).folder


def test_avx512_is_unavailable_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "AVX512", {"avx512f", "avx4096"})
    assert Acrobat(Target()).available() is None
    assert Acrobat(Target(), isa="avx2").available() is None
    reason = Acrobat(Target(), isa="avx512").available()
    assert reason and reason.startswith("isa=avx512 needs a processor with AVX-512") and "avx4096" in reason


class TestFacts:
    @pytest.mark.parametrize(
        ("name", "options", "load_time"),
        [
            ("treelstm", Options(), "tables"),
            ("treelstm", Options(tables=False), ""),
            ("mvrnn", Options(), ""),  # it has no product with a word alone
            ("stackrnn", Options(), "tables"),
        ],
    )
    def test_load_time_names_tables_where_there_are_some(
        self, built: Callable[..., Any], name: str, options: Options, load_time: str
    ) -> None:
        assert Compiled(built(name, options=options), 1).facts()["load_time"] == load_time

    @pytest.mark.parametrize(("name", "recursive", "phases"), [("treelstm", True, 1), ("birnn", False, 2)])
    def test_properties_are_those_of_the_schedule(
        self, built: Callable[..., Any], name: str, recursive: bool, phases: int
    ) -> None:
        """Five instances make wider launches than one. There are no properties before something has run."""
        compiled = Compiled(built(name), 1)
        assert "properties" not in compiled.facts()
        compiled.run(draw(name, 5))
        found = compiled.facts()["properties"]
        assert found["recursive"] is recursive and found["phases"] >= phases
        assert 1 <= found["width_median"] <= found["width_most"] and 1 <= found["width_of_one"] < found["width_most"]
        assert found["depth"] > 2

    def test_generated_kernels(self, built: Callable[..., Any]) -> None:
        facts = Compiled(built("birnn", options=AVX2, threads=2), 2).facts()
        assert facts["instruction_set"] == "avx2" and facts["threads"] == 2
        assert re.fullmatch(r"generated kernels, LLVM \d+", facts["library"])
        native = Compiled(built("birnn"), 1).facts()
        assert native["instruction_set"] == CpuTarget.detect().instruction_set and native["threads"] == 1

    def test_a_vendors_kernels(self, built: Callable[..., Any]) -> None:
        facts = Compiled(built("birnn", options=Options(kernels="vendor")), 1).facts()
        assert re.fullmatch(r"OpenBLAS [\d.]+ \(\w+\), generated kernels, LLVM \d+", facts["library"])
        assert facts["instruction_set"] == blas.find().instruction_set != ""


def test_a_vendors_library_that_uses_other_instructions_is_unavailable() -> None:
    """The library chose its instructions when it was loaded, so the option cannot be satisfied."""
    chosen = blas.find().instruction_set
    for isa, core in (("avx2", "Haswell"), ("avx512", "SkylakeX")):
        if target.CpuTarget.detect().instruction_set == "avx2" and isa == "avx512":
            continue
        reason = Acrobat(Target(), kernels="vendor", isa=isa).available()
        if isa == chosen:
            assert reason is None
        else:
            assert reason and f"OPENBLAS_CORETYPE={core}" in reason
