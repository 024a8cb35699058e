"""Encodings of instructions, and the instruction sets seen in a running computation and in a compiled library."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.instructions import FEW, compiled_for, instruction_sets, observe, width


@pytest.mark.parametrize(
    ("code", "bits"),
    [
        ("62 f2 75 48 b8 c2", 512),  # vfmadd231ps zmm0, zmm1, zmm2
        ("62 f2 75 58 b8 00", 512),  # vfmadd231ps zmm0, zmm1, dword [rax] to all lanes
        ("62 f2 75 28 b8 c2", 256),  # vfmadd231ps ymm0, ymm1, ymm2 in the new encoding
        ("62 f1 74 18 58 c2", 512),  # vaddps zmm0, zmm1, zmm2, rounding to nearest
        ("62 f1 74 48 59 00", 512),  # vmulps zmm0, zmm1, [rax]
        ("62 f1 7c 48 10 00", None),  # vmovups zmm0, [rax]
        ("62 f2 75 08 b9 c2", None),  # vfmadd231ss xmm0, xmm1, xmm2
        ("c4 e2 75 b8 c2", 256),  # vfmadd231ps ymm0, ymm1, ymm2
        ("c4 e2 71 b8 c2", 128),  # vfmadd231ps xmm0, xmm1, xmm2
        ("c4 e2 71 b9 c2", None),  # vfmadd231ss xmm0, xmm1, xmm2
        ("c4 e2 75 96 c2", 256),  # vfmaddsub132ps
        ("c5 f4 58 c2", 256),  # vaddps ymm0, ymm1, ymm2
        ("c5 f2 58 c2", None),  # vaddss xmm0, xmm1, xmm2
        ("c5 fc 10 00", None),  # vmovups ymm0, [rax]
        ("c5 f5 ef c9", None),  # vpxor ymm1, ymm1, ymm1
        ("0f 58 c1", 128),  # addps xmm0, xmm1
        ("66 41 0f 59 c1", 128),  # mulpd xmm0, xmm9
        ("f3 0f 58 c1", None),  # addss xmm0, xmm1
        ("48 01 d8", None),  # add rax, rbx
        ("c3", None),  # ret, the last byte of a page
        ("", None),
    ],
)
def test_width(code: str, bits: int | None) -> None:
    assert width(bytes.fromhex(code)) == bits


def test_what_is_rare_is_not_named() -> None:
    assert instruction_sets({"avx512": 30, "avx2": 70}) == "avx2, avx512"
    assert instruction_sets({"avx512": 1, "avx2": 99}) == "avx2"
    assert instruction_sets({"avx2": FEW - 1}) == ""
    assert instruction_sets(None) == ""


PRODUCTS = """
import json, sys
import numpy as np
from bench.instructions import observe
a = np.ones((256, 256), np.float32)
json.dump(observe(lambda: a @ a, seconds=20.0), sys.stdout)
"""


def test_a_product_is_seen() -> None:
    # in a process of its own, because the tests before may have left many threads in this one
    seen = json.loads(subprocess.run([sys.executable, "-c", PRODUCTS], check=True, capture_output=True).stdout)
    if seen is None:
        pytest.skip("one process may not look into another here")
    assert instruction_sets(seen)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["-mavx2", "-mfma"], "avx2"),
        (["-mavx512f", "-mavx512vl", "-mprefer-vector-width=512"], "avx512"),
        (["-msse2"], "sse"),
    ],
)
def test_what_a_library_was_compiled_for(tmp_path: Path, options: list[str], name: str) -> None:
    functions = "".join(
        f"void f{i}(float *a, const float *b, float c) {{ for (int k = 0; k < {64 * i}; ++k) a[k] += c * b[k]; }}\n"
        for i in range(1, 101)
    )
    source, library = tmp_path / "a.cc", tmp_path / "a.so"
    source.write_text(functions)
    subprocess.run(["g++", "-O3", "-ffast-math", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    assert compiled_for(library.read_bytes()) == name


def test_nothing_is_seen_where_nothing_is_computed() -> None:
    seen = observe(lambda: sum(range(1000)), seconds=0.3)
    assert not seen
    assert instruction_sets(seen) == ""


def test_an_error_of_the_computation_is_not_swallowed() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        observe(fail)
