"""The kernels of all workloads compiled for a GPU, without one: that NVRTC takes the text, and what the kernels need."""

from __future__ import annotations

import pytest

from backends.acrobat.codegen.module import collect_units
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.frontend import build_with_reads
from backends.acrobat.kernels.cuda import constants
from backends.acrobat.kernels.cuda.build import compiled, version
from backends.acrobat.kernels.cuda.emit import variants
from backends.acrobat.kernels.cuda.module import MODES, module_text, walk_shared
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.cuda.tests.support import H200
from backends.acrobat.kernels.interface import CudaCode, Emitted
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from workloads.spec import loaded
from workloads.tests.conftest import NAMES, spec

CHEAP = ("treelstm", "mvrnn", "drnn", "berxit")
"""Between them they have all templates."""
SAVED = 4096
"""Bytes of registers that the functions of a walk may save for their caller in all, once for each call."""


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
    """Each kernel by itself, where ptxas has nothing to save for a caller, so what it spills is what the kernel lacks."""
    emitted = kernels_of(name, size, H200)
    assert emitted
    image = compiled(module_text(emitted, ("launches",)), H200.arch)
    for each in emitted:
        usage = image.usage[f"launch_{each.symbol}"]
        assert usage.spilled == 0, f"{each.symbol}, {each.schedule}: {usage}"
        assert usage.registers <= 255
    assert walk_shared(emitted) <= H200.shared


def test_a_walk_compiles() -> None:
    emitted = kernels_of("mvrnn", "small", H200)
    usage = compiled(module_text(emitted, ("walk",)), H200.arch).usage
    assert set(usage) == {"walk"}
    assert usage["walk"].registers <= 255  # of 65536 for the 256 threads that each multiprocessor runs
    assert usage["walk"].spilled <= SAVED


@pytest.mark.parametrize("name", [n if n == CHEAP[0] else pytest.param(n, marks=pytest.mark.exhaustive) for n in NAMES])
def test_a_workload_compiles(name: str) -> None:
    check(name, "small")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CHEAP)
def test_a_large_workload_compiles(name: str) -> None:
    check(name, "large")


def test_all_templates_compile_for_launches() -> None:
    """On the smallest sizes, whose text is as good as any: one kernel of each template, by themselves."""
    by_template: dict[str, Emitted[CudaCode]] = {}
    for name in CHEAP:
        for emitted in kernels_of(name, "tiny", H200):
            by_template.setdefault(emitted.schedule.template, emitted)
    assert {"few", "dots", "both", "slices", "elements"} <= set(by_template)
    image = compiled(module_text(list(by_template.values()), MODES), H200.arch)
    assert {"walk", "launch_copy_rows", "launch_flag", *(f"launch_{e.symbol}" for e in by_template.values())} == set(
        image.usage
    )
    assert not any(u.spilled for name, u in image.usage.items() if name != "walk")


def test_what_nvrtc_refuses_is_an_error_with_its_words() -> None:
    with pytest.raises(BuildError, match='identifier "nothing" is undefined'):
        compiled("int f() { return nothing; }", H200.arch)
    with pytest.raises(BuildError, match="sm_1"):
        compiled("", "sm_1")


def test_the_program_that_measures_the_device_compiles() -> None:
    usage = compiled(constants.TEXT, H200.arch).usage
    assert set(usage) == set(constants.ENTRIES)
    assert not any(u.spilled for u in usage.values())
