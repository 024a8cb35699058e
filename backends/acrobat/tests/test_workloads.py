"""Every workload, compiled, against eager float64: values, structure, classes and dtypes, on one thread and two."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.compiler import compile
from backends.acrobat.options import Options
from backends.acrobat.tests.support import NAMES, assert_same, draw, eager, edges, tiny
from workloads.spec import loaded
from workloads.tests.conftest import DECIDING, spec


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
class TestWorkload:
    def test_batches_are_eagers_answers(self, built: Any, name: str, threads: int) -> None:
        executable = built(name, threads=threads)
        model = tiny(name, torch.float64)
        for n in (1, 6):
            instances = draw(name, n)
            want = eager(model, instances)
            assert_same(executable(instances), want)
            assert_same(executable(instances), want)  # the arenas are used again

    def test_smallest_next_to_largest(self, built: Any, name: str, threads: int) -> None:
        executable = built(name, threads=threads)
        model = tiny(name, torch.float64)
        instances = edges(name)
        want = eager(model, instances)
        for _ in range(2):
            assert_same(executable(instances), want)
        for instance, answer in zip(instances, want, strict=True):
            assert_same(executable([instance]), [answer])

    def test_no_instances_no_results(self, built: Any, name: str, threads: int) -> None:
        executable = built(name, threads=threads)
        assert executable([]) == []
        assert executable.counters()["launches"] == 0
        assert_same(executable(draw(name, 1)), eager(tiny(name, torch.float64), draw(name, 1)))

    def test_instances_stay_as_they_were(self, built: Any, name: str, threads: int) -> None:
        instances = [*draw(name, 3), *edges(name)]
        before = copy.deepcopy(instances)
        built(name, threads=threads)(instances)
        assert repr(instances) == repr(before)

    def test_results_outlive_the_next_batch(self, built: Any, name: str, threads: int) -> None:
        executable = built(name, threads=threads)
        first = draw(name, 2, seed=1)
        kept = executable(first)
        executable(draw(name, 6, seed=2))
        executable.close()
        assert_same(kept, eager(tiny(name, torch.float64), first))


@pytest.mark.parametrize("options", [Options(), Options(tables=False, invariants=False, horizontal=False)], ids=["on", "off"])
@pytest.mark.parametrize("name", DECIDING)
def test_real_decisions(name: str, options: Options) -> None:
    """With real decisions, control flow depends on the values that instances wait for: a wrong value takes another path."""
    workload = spec(name, decisions="real")
    executable = compile(loaded(workload, "tiny", 0), options=options, checked=True)
    instances = draw(name, 12, seed=3)
    want = eager(loaded(workload, "tiny", 0, torch.float64), instances)
    assert_same(executable(instances), want)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 3)])
def test_a_result_is_a_tensor_of_its_own(cache: Path, shape: tuple[int, ...]) -> None:
    """Writing to a result changes no other, also where gradients are recorded: nothing shows that results share a buffer."""
    model = Shaped(shape)
    results = compile(model, cache_folder=cache, checked=True)([1, 2, 3])
    assert [r.shape for r in results] == [shape] * 3
    factor = torch.full(shape, 5.0, requires_grad=True)
    results[0].mul_(factor)
    results[0].sum().backward()
    assert factor.grad is not None and torch.equal(factor.grad, torch.full(shape, 2.0))
    assert [r._version for r in results] == [1, 0, 0] and not any(r._is_view() for r in results)
    for result, value in zip(results, (10.0, 3.0, 4.0), strict=True):
        assert result.is_contiguous() and torch.equal(result.detach(), torch.full(shape, value))


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize(
    "mode", [torch.inference_mode, torch.no_grad, lambda: torch.device("meta")], ids=["inference", "no grad", "meta"]
)
def test_a_result_is_made_on_the_cpu_whatever_the_mode(cache: Path, shape: tuple[int, ...], mode: Any) -> None:
    executable = compile(Shaped(shape), cache_folder=cache, checked=True)
    with mode():
        (result,) = executable([2])
    assert result.device.type == "cpu" and torch.equal(result, torch.full(shape, 3.0))


class Shaped(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.one = nn.Parameter(torch.ones(shape))

    def forward(self, n: int) -> Tensor:
        return self.one * float(n) + self.one
