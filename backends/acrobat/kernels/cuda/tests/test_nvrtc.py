"""Compiles the kernels of all workloads for a GPU, without one: whether NVRTC takes the text, and what the kernels need."""

from __future__ import annotations

import pytest

from backends.acrobat.codegen.module import collect_units
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.core.units import Mode
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.kernels.cpu.tests.support import Builder, param
from backends.acrobat.kernels.cuda import constants, gemm
from backends.acrobat.kernels.cuda.build import compiled, version
from backends.acrobat.kernels.cuda.emit import emit, variants
from backends.acrobat.kernels.cuda.module import module_text, walk_shared
from backends.acrobat.kernels.cuda.schedule import MANY_ROWS, gemm_schedules
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.cuda.tests.support import H200
from backends.acrobat.kernels.interface import CudaCode, Emitted
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from workloads.spec import loaded
from workloads.tests.conftest import NAMES, spec

CHEAP = ("treelstm", "mvrnn", "drnn", "berxit")
"""Workloads that need all templates between them."""


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
    usage = compiled(module_text(emitted, ("walk",)), H200.arch).usage
    assert set(usage) == {"walk"}
    assert usage["walk"].spilled == 0 and usage["walk"].stack == 0, usage
    assert usage["walk"].registers <= 255  # of 65536 for the 256 threads that each multiprocessor runs
    assert walk_shared(emitted) <= H200.shared


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


def test_all_tiles_of_products_of_many_rows_fit_the_registers() -> None:
    b = Builder(param("x", Mode.GATHERED, MANY_ROWS, 64), param("w", Mode.SHARED, 200, 64))
    kernel = b.kernel(b("relu", b("linear", "x", "w")))
    plan = gemm.plan_of(kernel)
    assert plan
    large = [s for s in gemm_schedules(plan[0], H200) if s.template == "many" and 4 * s.rows * s.panels >= 64]
    assert {(s.rows, s.panels) for s in large} == {(4, 4), (8, 2), (8, 3), (8, 4), (12, 2)}
    for schedule in large:
        emitted = emit(kernel, Mode.GATHERED, H200, schedule)
        usage = compiled(module_text([emitted], ("walk",)), H200.arch).usage["walk"]
        assert usage.spilled == 0 and usage.stack == 0 and usage.registers <= 255, (schedule, usage)
        assert walk_shared([emitted]) <= H200.shared


def test_what_nvrtc_refuses_is_an_error_with_its_words() -> None:
    with pytest.raises(BuildError, match='identifier "nothing" is undefined'):
        compiled("int f() { return nothing; }", H200.arch)
    with pytest.raises(BuildError, match="sm_1"):
        compiled("", "sm_1")


def test_the_program_that_measures_the_device_compiles() -> None:
    usage = compiled(constants.module_text(H200), H200.arch).usage
    assert set(usage) == set(constants.ENTRIES)
    assert not any(u.spilled for u in usage.values())
