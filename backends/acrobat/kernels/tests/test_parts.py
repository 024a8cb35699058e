"""Packing, targets, address functions, and that TVM is imported only to compile a kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.kernels.cpu.target import SECOND_LEVEL, CpuTarget, UnsupportedCpu, choose, second_level
from backends.acrobat.kernels.packing import PLAIN, pack, panels
from backends.acrobat.kernels.walks import Walk, fit
from backends.acrobat.options import Isa


def test_panels_hold_all_gates_of_a_unit():
    weight = np.arange(3 * 5 * 2, dtype=np.float32).reshape(15, 2)  # 3 gates of 5 units, 2 inputs
    description = json.loads(json.dumps(panels(3, 4, 2)))
    packed = pack(description, weight).reshape(2, 2, 3, 4)  # panel, k, gate, lane
    assert packed[0, 1, 2, 3] == weight[2 * 5 + 3, 1]
    assert packed[1, 0, 1, 0] == weight[1 * 5 + 4, 0]
    assert not packed[1, :, :, 1:].any()
    bias = pack(description, np.arange(15, dtype=np.float32)).reshape(2, 1, 3, 4)
    assert bias[1, 0, 2, 0] == 14


@pytest.mark.parametrize("array", [np.arange(7, dtype=np.float32), np.ones((3, 5), np.float32).T, np.float32(2.0)])
def test_plain_packing_is_aligned_and_in_order(array):
    packed = pack(PLAIN, np.asarray(array))
    assert packed.ctypes.data % 64 == 0
    np.testing.assert_array_equal(packed, np.asarray(array).reshape(-1))


def cpuinfo(vendor: str, family: int, flags: str) -> str:
    first = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\n"
    return f"{first}\nprocessor\t: 1\nflags\t\t: none\n"


AVX512 = "avx2 fma avx512f avx512dq avx512vl avx512bw"


@pytest.mark.parametrize(
    ("info", "target"),
    [
        (cpuinfo("AuthenticAMD", 26, AVX512), CpuTarget("znver5", 16)),
        (cpuinfo("AuthenticAMD", 25, AVX512), CpuTarget("znver4", 16)),
        (cpuinfo("AuthenticAMD", 25, "avx2 fma"), CpuTarget("znver3", 8)),
        (cpuinfo("AuthenticAMD", 23, "avx2 fma"), CpuTarget("x86-64-v3", 8)),
        (cpuinfo("GenuineIntel", 6, AVX512), CpuTarget("x86-64-v4", 16)),
        (cpuinfo("GenuineIntel", 6, AVX512 + " amx_tile"), CpuTarget("sapphirerapids", 16)),
        (cpuinfo("GenuineIntel", 6, "avx2 fma"), CpuTarget("x86-64-v3", 8)),
    ],
)
def test_targets(info: str, target: CpuTarget):
    assert choose("x86_64", info) == target


@pytest.mark.parametrize(
    ("info", "isa", "target"),
    [
        (cpuinfo("AuthenticAMD", 26, AVX512), "avx2", CpuTarget("znver3", 8)),
        (cpuinfo("GenuineIntel", 6, AVX512 + " amx_tile"), "avx2", CpuTarget("x86-64-v3", 8)),
        (cpuinfo("GenuineIntel", 6, AVX512), "avx512", CpuTarget("x86-64-v4", 16)),
        (cpuinfo("GenuineIntel", 6, "avx2 fma"), "avx2", CpuTarget("x86-64-v3", 8)),
    ],
)
def test_targets_of_an_instruction_set(info: str, isa: Isa, target: CpuTarget):
    assert choose("x86_64", info, isa) == target
    assert target.instruction_set == isa


def test_the_second_level_cache_is_read_from_the_system(tmp_path: Path) -> None:
    for index, (level, size) in enumerate([("1", "32K"), ("1", "32K"), ("2", "2M"), ("3", "96M")]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "level").write_text(f"{level}\n")
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert second_level(tmp_path) == 2 << 20
    (tmp_path / "index2" / "size").write_text("512K\n")
    assert second_level(tmp_path) == 512 << 10
    (tmp_path / "index2" / "size").write_text("unknown\n")
    assert second_level(tmp_path) == second_level(tmp_path / "none") == SECOND_LEVEL


def test_avx512_is_refused_where_some_of_it_is_missing():
    with pytest.raises(UnsupportedCpu, match=r"isa=avx512 needs.*lacks avx512bw, avx512vl$"):
        choose("x86_64", cpuinfo("GenuineIntel", 6, "avx2 fma avx512f avx512dq"), "avx512")


@pytest.mark.parametrize(("machine", "flags"), [("aarch64", ""), ("x86_64", "sse4_2 avx")])
def test_processors_without_avx2_are_refused(machine: str, flags: str):
    with pytest.raises(UnsupportedCpu, match="AVX2"):
        choose(machine, cpuinfo("GenuineIntel", 6, flags))


def test_a_walk_of_mixed_digits():
    values = np.arange(2 * 3 * 4).reshape(2, 3, 4).transpose(1, 0, 2).reshape(-1) + 7
    walk = fit(values)
    assert walk is not None
    assert [walk(i) for i in range(24)] == values.tolist()
    assert fit(np.array([0, 1, 3])) is None
    assert fit(np.array([5, 5, 5])) == Walk(5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-50, 50)), max_size=4), st.integers(-9, 9))
def test_every_strided_array_has_a_walk(dimensions: list[tuple[int, int]], start: int):
    values = np.array(start)
    for extent, stride in dimensions:
        values = values[..., None] + np.arange(extent) * stride
    walk = fit(values.reshape(-1))
    assert walk is not None
    assert [walk(i) for i in range(values.size)] == values.reshape(-1).tolist()


def test_tvm_is_imported_by_emission_only():
    modules = ["cpu.emit", "cpu.target", "cuda.target", "fusible", "interface", "packing", "plan", "tests.reference"]
    lines = ["import sys", *(f"import backends.acrobat.kernels.{m}" for m in modules), "assert 'tvm' not in sys.modules"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
