"""Compiles the kernels of all workloads for a GPU, without one: whether NVRTC takes the text, and what the kernels need."""

from __future__ import annotations

import pytest

from backends.acrobat.codegen.module import collect_units
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.core.units import Mode
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.kernels.cpu.tests import test_gemm, test_product
from backends.acrobat.kernels.cuda import constants, gemm
from backends.acrobat.kernels.cuda.build import compiled, version
from backends.acrobat.kernels.cuda.emit import emit, variants
from backends.acrobat.kernels.cuda.module import RESERVED, module_text, resident_blocks, walk_shared
from backends.acrobat.kernels.cuda.schedule import MOST_SUMS, CudaSchedule, gemm_schedules
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.cuda.tests.support import H200
from backends.acrobat.kernels.interface import CudaCode, Emitted
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from workloads.spec import loaded
from workloads.tests.conftest import NAMES, spec

CHEAP = ("treelstm", "mvrnn", "drnn", "berxit")
"""Workloads that need all templates between them."""


SAVED, SPILLED = 264, 8
"""Bytes of registers that a function for many rows may save for its caller, of which there are 61, and that it may load once
more. One that spilled registers in its loop had 150 bytes and more beside the 61."""


def kernels_of(name: str, size: str, target: CudaTarget) -> list[Emitted[CudaCode]]:
    program, _ = build_with_reads(loaded(spec(name), size, 0))
    requests = collect_units(optimise(program, Options().effective()), True).requests()
    found = [v.emitted for r in requests for v in variants(r.kernel, r.out_mode, target)]
    return list({e.symbol: e for e in found}.values())


@pytest.fixture(scope="module", autouse=True)
def nvrtc() -> None:
    try:
        version()
    except BuildError as error:
        pytest.skip(str(error))


def check(name: str, size: str) -> None:
    """All kernels of a workload are inlined into the walker, so a kernel that lacks registers shows in the walker's usage."""
    emitted = kernels_of(name, size, H200)
    assert emitted
    blocks = resident_blocks(emitted, H200)
    assert blocks == (2 if name == "berxit" else 1)
    usage = compiled(module_text(emitted, ("walk",), blocks), H200.arch).usage
    assert set(usage) == {"walk"}
    assert usage["walk"].spilled <= SPILLED * sum(e.schedule.template in ("many", "both") for e in emitted), usage
    assert usage["walk"].stack - usage["walk"].saved < 16, usage  # the stack has nothing but the registers of callers
    assert usage["walk"].registers <= 65536 // (256 * blocks)  # a multiprocessor has 65536, a block 256 threads
    assert blocks * (walk_shared(emitted) + RESERVED) <= H200.shared + RESERVED


@pytest.mark.parametrize(
    "name", [n if n in (CHEAP[0], "berxit") else pytest.param(n, marks=pytest.mark.exhaustive) for n in NAMES]
)
def test_a_workload_compiles(name: str) -> None:
    check(name, "small")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CHEAP)
def test_a_large_workload_compiles(name: str) -> None:
    check(name, "large")


def test_all_templates_compile_for_launches() -> None:
    """One kernel of each template with an entry of its own, at the smallest sizes: the text is much the same at all sizes."""
    by_template: dict[str, Emitted[CudaCode]] = {}
    for name in CHEAP:
        for emitted in kernels_of(name, "tiny", H200):
            by_template.setdefault(emitted.schedule.template, emitted)
    assert {"few", "dots", "columns", "slices", "elements"} <= set(by_template)
    image = compiled(module_text(list(by_template.values()), ("launches",)), H200.arch)
    assert {"launch_copy_rows", "launch_tell_rows", *(f"launch_{e.symbol}" for e in by_template.values())} == set(image.usage)
    assert not any(u.spilled for u in image.usage.values())


@pytest.mark.parametrize("gates", [1, 2, 3, 4])
def test_products_of_many_rows_have_room_beside_another_block(gates: int) -> None:
    """All tiles of products of many rows, and of two row operands, with half of a multiprocessor's registers and memory."""
    kernel = test_gemm.gated(gates, 200)
    plan = gemm.plan_of(kernel)
    assert plan
    schedules = [s for s in gemm_schedules(plan[0]) if s.template == "many" and 4 * s.rows * s.panels * gates <= MOST_SUMS]
    emitted = [emit(kernel, Mode.GATHERED, H200, s) for s in schedules]
    both = [CudaSchedule("both", s.rows, s.panels) for s in schedules]
    emitted += [emit(test_product.scores(3, 130, 64), Mode.GATHERED, H200, s) for s in both]
    usage = compiled(module_text(emitted, ("walk",), 2), H200.arch).usage["walk"]
    assert usage.registers <= 128 and usage.spilled <= SPILLED and 0 < usage.saved <= SAVED, usage
    assert 2 * (walk_shared(emitted) + RESERVED) <= H200.shared + RESERVED


def test_what_nvrtc_refuses_is_an_error_with_its_words() -> None:
    with pytest.raises(BuildError, match='identifier "nothing" is undefined'):
        compiled("int f() { return nothing; }", H200.arch)
    with pytest.raises(BuildError, match="sm_1"):
        compiled("", "sm_1")


def test_the_program_that_measures_the_device_compiles() -> None:
    usage = compiled(constants.module_text(H200), H200.arch).usage
    assert set(usage) == set(constants.ENTRIES)
    assert not any(u.spilled for u in usage.values())
