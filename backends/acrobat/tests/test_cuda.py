"""Models compiled for CUDA, end to end, on the emulated driver, which runs the text of the kernels and the runtime for CUDA on
the processor.

`kernels/cuda/tests/` tests what kernels compute, `runtime/cuda/tests/` what the executor does. These tests are about the rest:
the plans of units, builds, weights, results and errors. Answers are compared with eager float64, in checked mode.
"""

from __future__ import annotations

import copy
import gc
import json
import linecache
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.benchmarks.cuda_steps import intervals
from backends.acrobat.codegen.cuda.device import IMAGE, TEXT, check_versions
from backends.acrobat.codegen.cuda.units import chains
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.module import collect_units
from backends.acrobat.compiler import compile
from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.errors import CompileError, DeviceError, InstanceError, ResourceError
from backends.acrobat.frontend import build as build_program
from backends.acrobat.kernels.cuda.stages import writes
from backends.acrobat.kernels.cuda.target import CAPABILITY_MAJOR, CAPABILITY_MINOR, UnsupportedCuda
from backends.acrobat.kernels.cuda.text import ELEMENTWISE
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from backends.acrobat.runtime.cuda.tests.emulated import VARIABLE, Emulated, emulated, library
from backends.acrobat.tests import gpu
from backends.acrobat.tests.support import NAMES, assert_same, draw, eager, edges, exhaustive, tiny
from backends.acrobat.tests.test_numbers import Reading, check_reading
from backends.acrobat.tuning.cuda import PredictedSchedule, expanded
from bench.verify import TOLERANCES
from workloads.structures import map_tensors

DEFAULT = Options()


@pytest.fixture(scope="module")
def driver() -> Iterator[Emulated]:
    with emulated() as driver:
        yield driver


@pytest.fixture
def cuda(driver: Emulated, cache: Path) -> Any:
    """`cuda(name, **options)`: a new executable of the workload at size tiny, checked, on the emulated device."""
    driver.reset()

    def made(name: str, checked: bool = True, **options: Any) -> Any:
        return compile(
            tiny(name), device="cuda", cache_folder=cache, checked=checked, options=Options(**options), policy_trials=20
        )

    return made


def check(executable: Any, name: str, instances: list[Any]) -> None:
    assert_same(executable(instances), eager(tiny(name, torch.float64), instances))


def test_whole_tensors_are_read(driver: Emulated, cache: Path) -> None:
    driver.reset()
    executable = compile(Reading(), device="cuda", cache_folder=cache, checked=True)
    check_reading(lambda instance: executable([instance])[0])


def test_clocks_of_a_walk_are_those_of_its_steps(cuda: Any) -> None:
    executable, instances = cuda("drnn"), draw("drnn", 3)
    executable(instances)
    counters = executable.counters()
    found = intervals(executable, instances)
    assert sum(i.cycles for i in found) == 1000 * counters["steps"], "the emulated clock counts a thousand from step to step"
    assert len(found) == counters["barriers"] + counters["executions"], "what follows a walk's last barrier is an interval too"
    assert any("tell_rows" in i.kernels for i in found) and all(i.tiles > 0 for i in found)
    check(executable, "drnn", instances)


def test_a_walk_gives_eagers_answers(cuda: Any) -> None:
    """Drawn instances and edges on one executable, so that memory is used again. Each execution is one launch."""
    executable = cuda("treelstm")
    for instances in (draw("treelstm", 5), edges("treelstm")):
        check(executable, "treelstm", instances)
    counters = executable.counters()
    assert counters["device_launches"] == counters["executions"] > 0
    assert counters["barriers"] < counters["steps"]


class Folded(nn.Module):
    """Element-wise work on more tensors than one kernel of the device has room for."""

    def forward(self, xs: tuple) -> Tensor:
        total = xs[0]
        for x in xs[1:]:
            total = total * x + 1.0
        return total


class Stacked(nn.Module):
    def forward(self, xs: tuple) -> Tensor:
        a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc = xs
        return torch.stack([a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc])


class StackedInParts(nn.Module):
    def forward(self, xs: tuple) -> Tensor:
        a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc = xs
        first = torch.stack([a, b, c, d, e, f, g, h, i, j, k, m, n])
        return torch.cat([first, torch.stack([o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc])])


def test_operations_on_many_tensors_share_several_kernels(driver: Emulated, cache: Path) -> None:
    driver.reset()
    instances = [tuple(torch.rand(3) for _ in range(28)) for _ in range(2)]
    for module in (Folded(), StackedInParts()):
        executable = compile(module, device="cuda", sample=instances, cache_folder=cache, checked=True)
        for got, instance in zip(executable(instances), instances, strict=True):
            torch.testing.assert_close(got, module(instance))


def test_an_operation_with_too_many_operands_is_refused_at_its_line(driver: Emulated, cache: Path) -> None:
    driver.reset()
    instances = [tuple(torch.rand(3) for _ in range(28))]
    with pytest.raises(CompileError) as error:
        compile(Stacked(), device="cuda", sample=instances, cache_folder=cache)
    (problem,) = error.value.problems
    assert problem.message == "`stack`: 28 operands are too many for one kernel of a CUDA device"
    assert "torch.stack" in linecache.getline(problem.span.file, problem.span.line)


class Curved(nn.Module):
    def forward(self, x: Annotated[Tensor, 6]) -> Annotated[Tensor, 6]:
        y = x * 2.0
        return nn.functional.gelu(y)


def test_an_operation_without_a_kernel_is_refused_at_its_line(
    driver: Emulated, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.reset()
    monkeypatch.delitem(ELEMENTWISE, "gelu")
    with pytest.raises(CompileError) as error:
        compile(Curved(), device="cuda", cache_folder=cache)
    (problem,) = error.value.problems
    assert problem.message == "`gelu`: there is no kernel for it on a CUDA device" and "device=cpu" in str(error.value)
    assert "gelu" in linecache.getline(problem.span.file, problem.span.line)


def test_every_operation_has_a_kernel() -> None:
    computed = {name for name, op in OPS.items() if op.fusion is not Fusion.ADDRESS}
    assert {name for name in computed if not writes(name)} == set()


ROUNDED = {"treelstm": "tf32", "mvrnn": "bf16", "birnn": "tf32"}


@pytest.mark.parametrize("name", [n if n == "mvrnn" else pytest.param(n, marks=exhaustive) for n in ROUNDED])
def test_products_may_round_their_operands(cuda: Any, name: str) -> None:
    """Outputs are off by more than float32's error, so that products did run as asked, and by less than the tolerance."""
    precision = ROUNDED[name]
    instances = draw(name, 24)
    executable = cuda(name, precision=precision)
    relative, absolute = TOLERANCES[precision]
    want = eager(tiny(name, torch.float64), instances)
    got = executable(instances)
    with pytest.raises(AssertionError):
        assert_same(got, want)
    leaves = zip(map_leaves(got), map_leaves(want), strict=True)
    for g, w in leaves:
        assert torch.all((g.double() - w).abs() <= relative * w.abs() + absolute * w.abs().max())


def map_leaves(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    map_tensors(lambda t: found.append(t) or t, value)  # type: ignore[func-returns-value]
    return found


def test_a_launch_for_each_step_gives_them_too(cuda: Any) -> None:
    executable = cuda("treelstm", launch="launches")
    check(executable, "treelstm", draw("treelstm", 5))
    check(executable, "treelstm", edges("treelstm"))
    counters = executable.counters()
    assert counters["device_launches"] == counters["steps"] > counters["executions"]


@exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_all_settings_give_eagers_answers(name: str) -> None:
    """Runs, in a process of its own, the program that makes the same checks on a GPU."""
    command = [sys.executable, "-m", "backends.acrobat.tests.gpu", "--tiny", "--", name]
    ran = subprocess.run(command, env=os.environ | {VARIABLE: str(library())}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-4000:]
    assert ran.stdout.endswith(f"all right: {name}\n") and len(ran.stdout.splitlines()) > len(gpu.SETTINGS)


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "copied": ("treelstm", {"gather_fusion": False}),
    "interpreted": ("drnn", {"codegen": "vm"}),
    "dataflow": ("drnn", {"executor": "dataflow"}),
    "agenda": ("drnn", {"executor": "agenda"}),
    "learned": ("drnn", {"executor": "learned"}),
    "in waves": ("drnn", {"wave": 1}),
    "single kernels": ("treelstm", {"coarsen": False}),
    "steps apart": ("mvrnn", {"merge_steps": False}),
    "without a schedule": ("drnn", {"phases": False, "ghosts": False, "hoist": False, "defer": False}),
}


RARE = ("without a schedule", "single kernels", "steps apart")
"""Settings that need kernels of their own to be compiled; those with DRNN share their kernels."""


@pytest.mark.parametrize("setting", [pytest.param(s, marks=exhaustive) if s in RARE else s for s in SETTINGS])
def test_switches_change_no_answer(cuda: Any, setting: str) -> None:
    name, options = SETTINGS[setting]
    executable = cuda(name, **options)
    check(executable, name, draw(name, 5))
    check(executable, name, edges(name))
    if setting == "copied":
        assert executable.counters()["gathered_bytes"] > 0


@pytest.mark.parametrize("name", ["drnn", pytest.param("stackrnn", marks=exhaustive)])
def test_instances_go_on_while_the_device_still_computes(cuda: Any, driver: Emulated, name: str) -> None:
    """StackRNN's instances wait at two depths of an execution, DRNN's all at one."""
    executable = cuda(name)
    driver.pause_at_barriers()
    check(executable, name, draw(name, 5))
    check(executable, name, edges(name))


def test_a_minibatch_is_one_wave_unless_a_user_says_otherwise() -> None:
    device = DEVICES["cuda"]
    assert device.wave(Options()) == 0 and device.wave(Options(wave=8)) == 8
    assert DEVICES["cpu"].wave(Options()) == Options().wave > 0


def test_a_build_has_the_devices_code(cuda: Any) -> None:
    executable = cuda("treelstm")
    text = (executable.folder / TEXT).read_text()
    assert executable.manifest["device"] == "cuda" and executable.manifest["target"]["arch"] == "emulated"
    assert all(f"{symbol}_tile" in text for symbol in executable.manifest["kernels"])
    assert (executable.folder / IMAGE).stat().st_size > 0
    assert cuda("treelstm").folder == executable.folder


def test_new_weights_are_taken_over(cuda: Any) -> None:
    model, other = tiny("treelstm"), tiny("treelstm")
    executable = compile(model, device="cuda", checked=True)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    instances = draw("treelstm", 3)
    before = executable(instances)
    kept = copy.deepcopy(before)
    executable.load(other)
    assert_same(executable(instances), eager(copy.deepcopy(other).double(), instances))
    assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))
    executable.close()
    assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))


@dataclass
class Given:
    x: Annotated[Tensor, 6]
    scale: float
    rest: list[Annotated[Tensor, 5]]


class Mixed(nn.Module):
    """A model of tensors of the instance, weights, host numbers, and a list that is summed up."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 5)

    def forward(self, given: Given) -> Annotated[Tensor, 5]:
        total = self.layer(given.x) * given.scale
        for r in given.rest:
            total = total + r
        return total


@pytest.mark.parametrize("launch", ["walk", "launches"])
def test_tensors_and_numbers_of_instances_get_to_the_device(driver: Emulated, cache: Path, launch: Any) -> None:
    driver.reset()
    torch.manual_seed(0)
    model = Mixed()
    executable = compile(model, device="cuda", cache_folder=cache, checked=True, options=Options(launch=launch))
    instances = [Given(torch.randn(6), float(i), [torch.randn(5) for _ in range(i)]) for i in range(4)]
    instances += [Given(torch.randn(12)[::2], -1.5, [torch.randn(10)[::2]])]  # not contiguous
    want = eager(copy.deepcopy(model).double(), instances)
    assert_same(executable(instances), want)
    with pytest.raises(InstanceError, match="instance 0"):
        executable([Given(torch.randn(7), 1.0, [])])
    assert_same(executable(instances), want)


def test_tiles_are_chosen_by_running_them_on_the_device(driver: Emulated, tmp_path: Path) -> None:
    """Any schedule may be the fastest on an emulated device. Measurements are kept and not repeated."""
    driver.reset()
    torch.manual_seed(0)
    model = Mixed()
    tuned = partial(compile, model, device="cuda", cache_folder=tmp_path, tune=1, guide="even")
    executable = tuned()
    instances = [Given(torch.randn(6), float(i), [torch.randn(5)]) for i in range(9)]
    assert_same(executable(instances), eager(copy.deepcopy(model).double(), instances))
    (kept,) = (tmp_path / "tuning" / "cuda").iterdir()
    (entry,) = json.loads(kept.read_text())["schedules"]
    assert entry["schedule"]["template"] in ("few", "many") and list(entry["timings"]) == ["64"]
    launches = driver.calls("cuLaunchCooperativeKernel")
    assert tuned().folder == executable.folder
    assert driver.calls("cuLaunchCooperativeKernel") == launches


def test_the_prediction_stands_where_no_tile_is_faster() -> None:
    predicted = PredictedSchedule(((0, "a"), (8, "b"), (64, "c")))
    assert expanded(((0, predicted),)) == predicted.variants
    assert expanded(((0, "x"), (16, predicted))) == ((0, "x"), (16, "b"), (64, "c"))
    assert expanded(((0, predicted), (40, "b"))) == ((0, "a"), (8, "b"))


def test_tensors_of_results_are_made_when_the_device_has_its_work(cuda: Any, driver: Emulated) -> None:
    executable = cuda("treelstm")
    allocate = executable._first.results.allocate
    launches: list[int] = []

    def observed(*arguments: Any) -> Any:
        address, make = allocate(*arguments)
        before = driver.calls("cuLaunchCooperativeKernel")

        def make_observed() -> Any:
            launches.append(driver.calls("cuLaunchCooperativeKernel") - before)
            return make()

        return address, make_observed

    executable._first.results.allocate = observed
    check(executable, "treelstm", draw("treelstm", 3))
    assert launches == [1]


def test_tensors_of_results_are_made_while_the_host_waits(cuda: Any) -> None:
    executable, instances = cuda("drnn"), draw("drnn", 5)
    maker = executable._first.results.makers[0]
    cut, made = maker.cut, []

    def observed(buffer: torch.Tensor, count: int) -> Any:
        made.append((maker.ready, count))
        return cut(buffer, count)

    maker.cut = observed
    for batch in (instances, instances, instances[:2], instances):
        check(executable, "drnn", batch)
    (first, most), (second, _), (third, fewer), (fourth, _) = made
    assert first == 0 and second == third == most > fewer == fourth > 0
    assert maker.ready == 0


def test_no_garbage_is_looked_for_while_results_are_made(cuda: Any) -> None:
    executable, instances = cuda("drnn"), draw("drnn", 5)
    executable(instances)
    collections: list[str] = []
    thresholds = gc.get_threshold()
    gc.callbacks.append(lambda phase, information: collections.append(phase))
    gc.set_threshold(1)
    try:
        executable(instances)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.pop()
    assert len(collections) < 20, len(collections)


class TestErrors:
    """Each error says what is wrong, and the executable can be used afterwards."""

    def test_settings_without_a_meaning(self, driver: Emulated) -> None:
        model = tiny("treelstm")
        for keywords, message in (
            ({"options": Options(kernels="vendor")}, "kernels='vendor' with device='cuda'"),
            ({"options": Options(isa="avx2")}, "isa='avx2' with device='cuda'"),
            ({"untuned": True}, "untuned with device='cuda'"),
            ({"device": "rocm"}, "device='rocm': a model is compiled for one of cpu, cuda"),
        ):
            with pytest.raises(ValueError, match=message):
                compile(model, **{"device": "cuda", **keywords})  # type: ignore[arg-type]

    def test_there_is_no_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "libcuda_that_is_not_there.so")
        with pytest.raises(UnsupportedCuda, match=r"there is no CUDA driver \(libcuda_that_is.*install NVIDIA's driver"):
            compile(tiny("treelstm"), device="cuda")

    def test_a_card_that_is_too_old(self, driver: Emulated) -> None:
        driver.reset()
        driver.attribute(CAPABILITY_MAJOR, 7)
        driver.attribute(CAPABILITY_MINOR, 5)
        with pytest.raises(UnsupportedCuda, match=r"capability 8\.0 or newer; emulated device has 7\.5: use device=cpu"):
            compile(tiny("treelstm"), device="cuda")
        driver.reset()

    def test_a_driver_older_than_the_compiler(self) -> None:
        check_versions((13, 0), (13, 2))
        with pytest.raises(
            UnsupportedCuda, match=r"knows CUDA 12\.4, but PyTorch's NVRTC makes code for 13\.0: install a newer"
        ):
            check_versions((12, 4), (13, 0))

    @pytest.mark.parametrize("launch", ["walk", "launches"])
    def test_a_launch_that_fails(self, cuda: Any, driver: Emulated, launch: Any) -> None:
        executable = cuda("treelstm", launch=launch)
        check(executable, "treelstm", draw("treelstm", 3))
        driver.fail("cuLaunchCooperativeKernel" if launch == "walk" else "cuLaunchKernel", 701, after=launch == "launches")
        with pytest.raises(DeviceError, match=r"launching (the kernels|a kernel) failed: [^;]*701\)$"):
            executable(draw("treelstm", 3))
        check(executable, "treelstm", draw("treelstm", 3))

    def test_tensors_that_were_made_before_a_launch_failed(self, cuda: Any, driver: Emulated) -> None:
        executable, instances = cuda("drnn"), draw("drnn", 5)
        maker = executable._first.results.makers[0]
        check(executable, "drnn", instances)
        for _ in range(2):
            driver.fail("cuLaunchCooperativeKernel", 701, after=2)
            with pytest.raises(DeviceError):
                executable(instances)
            assert maker.ready > 0
            check(executable, "drnn", instances)
        driver.fail("cuLaunchCooperativeKernel", 701, after=2)
        with pytest.raises(DeviceError):
            executable(instances)
        executable.close()
        assert maker.ready == 0

    def test_a_kernel_that_fails_on_the_device(self, cuda: Any, driver: Emulated) -> None:
        """A kernel's illegal address makes a real device's context unusable, so that every later call fails too."""
        executable = cuda("treelstm")
        driver.fail("run", 700)
        encountered = r"running the kernels failed: an illegal memory access was encountered \(700\); .* start it anew"
        with pytest.raises(DeviceError, match=encountered):
            executable(draw("treelstm", 3))
        with pytest.raises(DeviceError, match="700"):
            executable(draw("treelstm", 3))
        with pytest.raises(UnsupportedCuda, match="an illegal memory access"):
            compile(tiny("treelstm"), device="cuda")
        driver.reset()
        check(executable, "treelstm", draw("treelstm", 3))

    def test_a_device_without_memory_for_weights_or_results(self, cuda: Any, driver: Emulated) -> None:
        executable = cuda("treelstm")
        check(executable, "treelstm", draw("treelstm", 3))
        driver.memory(5 << 20)
        with pytest.raises(ResourceError, match=r"the CUDA device 0 has no \d+ MiB left \(\d of 5 MiB are free; "):
            executable(edges("treelstm") * 400)
        check(executable, "treelstm", draw("treelstm", 3))
        driver.memory(1 << 20)
        with pytest.raises(ResourceError, match=r"out of memory \(2\); 0 of 1 MiB are free"):
            cuda("treelstm", checked=False)
        driver.reset()
        check(executable, "treelstm", draw("treelstm", 3))

    def test_counters_of_a_device_that_fails(self, cuda: Any, driver: Emulated) -> None:
        executable = cuda("treelstm")
        executable(draw("treelstm", 3))
        driver.fail("cuEventElapsedTime", 700)
        with pytest.raises(DeviceError, match="reading the device's clock failed"):
            executable.counters()
        assert executable.counters()["steps"] > 0

    def test_a_tensor_on_another_device(self, driver: Emulated, cache: Path) -> None:
        driver.reset()
        executable = compile(Mixed(), device="cuda", cache_folder=cache)
        with pytest.raises(InstanceError, match=r"instance 0, at \.x: expected a float32 CPU or cuda:0 tensor of shape \(6,\)"):
            executable([Given(torch.empty(6, device="meta"), 1.0, [])])
        assert len(executable([Given(torch.zeros(6), 1.0, [])])) == 1

    def test_memory_that_runs_out(self, driver: Emulated, cache: Path) -> None:
        driver.reset()
        executable = compile(tiny("treelstm"), device="cuda", cache_folder=cache, memory_limit=1 << 20)
        with pytest.raises(ResourceError, match=r"1(\.0)? MiB|1048576|bytes"):
            executable(edges("treelstm") * 40)
        check(executable, "treelstm", draw("treelstm", 3))


def test_calls_of_a_unit_come_after_those_that_they_need() -> None:
    """The chain of a call is the length of the longest path of calls before it; it is 0 without operands from other calls."""
    program = optimise(build_program(tiny("treelstm")), DEFAULT)
    found = {unit.name: chains(unit) for unit in collect_units(program)}
    assert any(max(chain) > 0 for chain in found.values())
    for unit in collect_units(program):
        of_step = {part.step: c for call, c in zip(unit.calls, chains(unit), strict=True) for part in call.parts}
        for call, chain in zip(unit.calls, chains(unit), strict=True):
            sources = [a.step for part in call.parts for a in part.args if hasattr(a, "step")]
            assert chain == max((of_step[s] + 1 for s in sources), default=0)
