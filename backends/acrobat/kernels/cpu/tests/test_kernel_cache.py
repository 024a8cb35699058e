"""Kernels on disk: other processes take them from there, damaged ones are made again, and emission works without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu import kernel_cache
from backends.acrobat.kernels.cpu.emit import emit, llvm_version
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.cpu.tests.support import HERE
from backends.acrobat.kernels.cpu.tests.test_gemm import plain

KERNEL = plain(9, 20)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACROBAT_CACHE", str(tmp_path))
    emit.cache_clear()
    return tmp_path / "kernels"


def test_a_kernel_is_made_once_and_needs_no_tvm_afterwards(folder: Path) -> None:
    made = emit(KERNEL, Mode.GATHERED, HERE)
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns
    llvm_version()
    program = f"""
import sys
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.emit import emit, llvm_version
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.cpu.tests.test_gemm import plain
had = "tvm" in sys.modules
made = emit(plain(9, 20), Mode.GATHERED, {HERE!r})
print(had, "tvm" in sys.modules, made.code.object_bytes.hex(), made.packs, made.code.parts)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == 0, ran.stderr
    had, has, content, rest = ran.stdout.strip().split(" ", 3)
    assert (had, has) == ("False", "False"), "TVM was not imported for it"
    assert (bytes.fromhex(content), rest) == (made.code.object_bytes, f"{made.packs} {made.code.parts}")
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [b"", b"{", b'{"facts": {}, "hash": ""}\n'])
def test_a_damaged_file_is_made_again(folder: Path, damage: bytes) -> None:
    made = emit(KERNEL, Mode.GATHERED, HERE)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage or whole[:-1])
    emit.cache_clear()
    assert emit(KERNEL, Mode.GATHERED, HERE) == made
    assert file.read_bytes() == whole


def test_each_kernel_mode_and_target_has_a_file_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = CpuTarget("x86-64-v3", 8)
    for kernel, mode, target in (
        (KERNEL, Mode.GATHERED, HERE),
        (KERNEL, Mode.CONTIGUOUS, HERE),
        (KERNEL, Mode.GATHERED, narrow),
    ):
        emit(kernel, mode, target)
    found = len(list(folder.iterdir()))
    assert found == 3
    monkeypatch.setattr(kernel_cache, "sources_hash", lambda: "others")
    emit.cache_clear()
    emit(KERNEL, Mode.GATHERED, HERE)
    assert len(list(folder.iterdir())) == found + 1


def test_where_nothing_can_be_written_kernels_are_made_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ACROBAT_CACHE", str(tmp_path / "file"))
    emit.cache_clear()
    assert emit(KERNEL, Mode.GATHERED, HERE).code.object_bytes
