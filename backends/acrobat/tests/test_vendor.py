"""The unfused mode: products are calls of a library's GEMM on copied operands, and each other operation is a kernel."""

from __future__ import annotations

import copy
import ctypes
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.ablation import CUMULATIVE, TRIALS
from backends.acrobat.backend import Acrobat
from backends.acrobat.codegen import blas
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Launch
from backends.acrobat.ir.visitor import walk
from backends.acrobat.kernels.cpu.vendor import call
from backends.acrobat.options import SWITCHES, Options
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests.models import Operands, Products
from backends.acrobat.tests.support import SOME, assert_same, draw, eager, edges, tiny
from bench.contract import Target

VENDOR = Options(kernels="vendor")


def units(model: nn.Module, options: Options = VENDOR) -> dict[str, Kernel]:
    """The kernels of a program without blocks, by name."""
    program = optimise(build(model), options)
    found = {}
    for f in program.functions.values():
        for node in walk(f.body):
            if isinstance(node, Launch):
                assert isinstance(node.unit, Kernel)
                found[node.unit.name] = node.unit
    return found


def is_product(kernel: Kernel) -> bool:
    return OPS[kernel.body[0].op].fusion is Fusion.PRODUCT


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SOME)
def test_batches_are_eagers_answers(built: Any, name: str, threads: int) -> None:
    executable = built(name, threads=threads, options=VENDOR)
    instances = [*draw(name, 4), *edges(name)]
    want = eager(tiny(name, torch.float64), instances)
    for _ in range(2):
        schedule = executable.schedule(instances)
        counters = executable.counters()
        assert_same(executable(instances), want)
    assert counters["gathered_bytes"] > 0
    assert counters["launches"] == counters["batches"] == len(schedule)
    kernels = units(tiny(name))
    assert {len(k.body) for k in kernels.values()} == {1}
    assert {kernel for *_, kernel, _ in schedule} <= kernels.keys()
    products = [kernel for *_, kernel, _ in schedule if is_product(kernels[kernel])]
    assert products and counters["library_calls"] >= len(products)


@pytest.mark.parametrize("name", SOME)
def test_every_product_is_the_librarys(built: Any, name: str) -> None:
    text = built(name, options=VENDOR).source.read_text()
    for kernel in units(tiny(name)).values():
        (provider,) = set(re.findall(rf"\b(k|vendor)_{kernel.name}_[0-9a-f]{{16}}\(", text))
        assert provider == ("vendor" if is_product(kernel) else "k")


def test_one_call_for_all_rows(cache: Path) -> None:
    """A product with a weight is one library call for all instances with one thread, and one for each of several threads."""
    counts = {}
    for threads in (1, 3):
        executable = compile(tiny("berxit"), options=VENDOR, threads=threads, cache_folder=cache)
        instances = draw("berxit", 6)
        schedule = executable.schedule(instances)
        counts[threads] = executable.counters()["library_calls"], schedule
    kernels = units(tiny("berxit"))
    heads = 2
    calls = 0
    for *_, name, rows in counts[1][1]:
        if is_product(kernels[name]):
            calls += heads * rows if kernels[name].body[0].op == "matmul" else 1
    assert counts[1][0] == calls
    assert counts[3][0] > calls
    assert counts[3][1] == counts[1][1]


def operands(n: int) -> list[Operands]:
    rng = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=rng)

    return [Operands(draw(40), draw(48, 40), draw(3, 5), draw(3, 2, 8, 24), draw(2, 24, 8)) for _ in range(n)]


@pytest.mark.parametrize("threads", [1, 3])
def test_every_form_of_product(cache: Path, threads: int) -> None:
    torch.manual_seed(0)
    model = Products()
    executable = compile(model, options=VENDOR, threads=threads, cache_folder=cache, checked=True)
    for n in (1, 2, 5, 100):
        instances = operands(n)
        assert_same(executable(instances), eager(copy.deepcopy(model).double(), instances))


def test_weights_of_each_row(built: Any) -> None:
    """Without parameter reuse the weights of a loop are gathered, so that each row is a product of its own."""
    options = Options(kernels="vendor", specialise=False)
    executable = built("birnn", options=options)
    instances = [*draw("birnn", 4), *edges("birnn")]
    assert_same(executable(instances), eager(tiny("birnn", torch.float64), instances))
    shared = built("birnn", options=VENDOR)
    shared(instances)
    assert executable.counters()["library_calls"] > shared.counters()["library_calls"]


def test_what_is_not_one_product_is_left() -> None:
    fused = units(tiny("mvrnn"), Options(coarsen=False))
    assert any(len(k.body) > 1 and any(OPS[i.op].fusion is Fusion.PRODUCT for i in k.body) for k in fused.values())
    for kernel in fused.values():
        assert (call(kernel, Mode.GATHERED, "f") is not None) == (len(kernel.body) == 1 and is_product(kernel))
    for kernel in units(tiny("mvrnn")).values():
        assert call(kernel, Mode.CONTIGUOUS, "f") is None


def test_vendor_turns_fusion_off(built: Any) -> None:
    asked = Options(kernels="vendor", vertical=True, horizontal=True, coarsen=True, gather_fusion=True, hoist=False)
    effective = Options(kernels="vendor", vertical=False, horizontal=False, coarsen=False, gather_fusion=False, hoist=False)
    assert asked.effective() == effective == effective.effective()
    assert Options(coarsen=False).effective() == Options(coarsen=False)
    assert built("treelstm", options=asked).folder == built("treelstm", options=effective).folder
    assert built("treelstm", options=asked).folder != built("treelstm", options=VENDOR).folder


class TestLibrary:
    def test_its_threads_are_put_back(self, built: Any) -> None:
        found = blas.find()
        get = ctypes.CFUNCTYPE(ctypes.c_int)(found.get_threads)
        set_ = ctypes.CFUNCTYPE(None, ctypes.c_int)(found.set_threads)
        before = get()
        try:
            set_(3)
            built("treelstm", threads=2, options=VENDOR)(draw("treelstm", 3))
            assert get() == 3
        finally:
            set_(before)

    def test_its_integers(self) -> None:
        """Calls sgemm directly, with integers of the width that was detected."""
        found = blas.find()
        integer = ctypes.c_int64 if found.wide else ctypes.c_int
        pointer, real = ctypes.c_void_p, ctypes.c_float
        sgemm = ctypes.CFUNCTYPE(
            None,
            *(ctypes.c_int, ctypes.c_int, ctypes.c_int, integer, integer, integer),
            *(real, pointer, integer, pointer, integer, real, pointer, integer),
        )(found.sgemm)
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        b = np.arange(12, dtype=np.float32).reshape(4, 3)
        c = np.ones((2, 4), np.float32)
        sgemm(101, 111, 112, 2, 4, 3, 1.0, a.ctypes.data, 3, b.ctypes.data, 3, 1.0, c.ctypes.data, 4)
        np.testing.assert_array_equal(c, a @ b.T + 1)

    def test_without_one_it_says_what_to_do(self, built: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blas, "candidates", lambda: iter(()))
        message = r"needs OpenBLAS.*nothing beside numpy.*[Ii]nstall numpy.*kernels=generated"
        with pytest.raises(BuildError, match=message):
            built("treelstm", options=VENDOR)
        assert "OpenBLAS" in (Acrobat(Target(), kernels="vendor").available() or "")
        assert Acrobat(Target()).available() is None
        instances = draw("treelstm", 2)
        assert_same(built("treelstm")(instances), eager(tiny("treelstm", torch.float64), instances))

    def test_what_was_tried_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = tmp_path / "libopenblas.so"
        broken.write_text("no library")
        monkeypatch.setattr(blas, "candidates", lambda: iter((str(broken), "libm.so.6")))
        with pytest.raises(BuildError, match=r"libopenblas\.so: .*; libm\.so\.6: exports no cblas_sgemm"):
            blas.find()

    def test_another_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = blas.find()
        paths = list(blas.candidates())
        monkeypatch.setattr(blas, "candidates", lambda: iter(("libm.so.6", *paths)))
        assert blas.find().sgemm == real.sgemm


class TestAblation:
    def test_each_step_adds_its_switches(self) -> None:
        steps = Acrobat(Target(), ablation="cumulative").variants()
        assert [s["step"] for s in steps] == [*CUMULATIVE]
        assert [s["kernels"] for s in steps] == ["vendor"] + ["generated"] * (len(steps) - 1)
        for before, after in pairwise(steps):
            turned = {name for name in SWITCHES if before[name] != after[name]}
            assert turned == set(CUMULATIVE[after["step"]])
            assert all(after[name] for name in turned)

    def test_what_the_paper_and_the_tables_name_is_a_step_of_its_own(self) -> None:
        steps = Acrobat(Target(), ablation="cumulative").variants()
        vendor, generated, *_ = steps
        assert {key for key in vendor.keys() | generated.keys() if vendor[key] != generated[key]} == {"step", "kernels"}
        turned = [{name for name in SWITCHES if before[name] != after[name]} for before, after in pairwise(steps)]
        assert {"fold_sums"} in turned and {"horizontal"} in turned

    def test_the_last_steps_are_the_default_and_it_tuned(self) -> None:
        *_, default, last = (Acrobat(Target(), **v) for v in Acrobat(Target(), ablation="cumulative").variants())
        assert default.options == last.options == Acrobat(Target()).options == Options()
        assert (default.tune, last.tune) == (0, TRIALS)

    def test_the_first_is_the_unfused_mode(self) -> None:
        first = Acrobat(Target(), **Acrobat(Target(), ablation="cumulative").variants()[0])
        assert first.ablation == "none"
        assert first.options == first.options.effective()
        assert first.options.kernels == "vendor" and first.options.specialise
        assert not first.options.hoist and not first.options.phases

    def test_alone_turns_every_switch_off_once(self) -> None:
        variants = Acrobat(Target(), ablation="alone").variants()
        off = [[name for name in SWITCHES if v.get(name) is False] for v in variants]
        assert off == [[], *([name] for name in SWITCHES)]
