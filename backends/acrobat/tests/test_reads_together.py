"""Numbers that an instance reads out of several tensors which do not need each other: it waits once for all of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.options import Options
from backends.acrobat.runtime.cuda.tests.emulated import emulated
from backends.acrobat.tests.samples import assert_same


class Reads(nn.Module):
    """Reads a float and an int that are computed at different depths, and whose memory has different sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 3)

    def forward(self, x: Annotated[Tensor, 6], scales: list[float]) -> Annotated[Tensor, 6]:
        hidden = torch.tanh(self.first(x))
        total = float(hidden.sum())
        best = int(torch.argmax(self.second(torch.tanh(self.first(hidden)))))
        if total > 0:
            hidden = hidden * scales[best]
        while float(hidden.sum()) > 1.0:
            hidden = hidden * 0.5
        return hidden


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    with emulated() if request.param == "cuda" else nullcontext():
        yield request.param


def test_each_number_is_its_own(device: Any, codegen: Any, cache: Path) -> None:
    torch.manual_seed(0)
    model = Reads()
    instances = [(torch.randn(6), [1.0, 2.0, 3.0]) for _ in range(9)]
    executable = compile(
        model, device=device, cache_folder=cache, checked=True, options=Options(codegen=codegen), sample=instances
    )
    double = copy.deepcopy(model).double()
    want = [double(x.double(), scales) for x, scales in instances]
    for _ in range(2):
        assert_same(executable(instances), want)
    counters = executable.counters()
    assert counters["waits"] >= 3 * len(instances)
    if codegen == "aot":
        assert executable.source.read_text().count("wait_for_all") == 1 and "Join" not in executable.source.read_text()


def test_who_waits_for_several_numbers_is_ended_where_another_instance_fails(device: Any, cache: Path) -> None:
    torch.manual_seed(0)
    model = Reads()
    good = [(torch.randn(6), [1.0, 2.0, 3.0]) for _ in range(9)]
    executable = compile(model, device=device, cache_folder=cache, checked=True, sample=good)
    want = executable(good)
    positive = next(x for x, _ in good if float(torch.tanh(model.first(x)).sum()) > 0)
    with pytest.raises(InstanceError, match="instance 0"):
        executable([(positive, []), *good])
    assert all(torch.equal(a, b) for a, b in zip(executable(good), want, strict=True))


class DeepReads(nn.Module):
    """Reads a number that work at three depths contributes to, and then three numbers together, each at a depth of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)

    def deeper(self, x: Annotated[Tensor, 4], rounds: int) -> Annotated[Tensor, 4]:
        for _ in range(rounds):
            x = torch.tanh(self.step(x))
        return x

    def forward(self, x: Annotated[Tensor, 4], rounds: list[int]) -> Annotated[Tensor, 4]:
        a, b, c = self.deeper(x, rounds[0]), self.deeper(x, rounds[1]), self.deeper(x, rounds[2])
        whole = float((a + b * c).sum())
        if whole > 0:
            a = self.step(a)
        one, two, three = a.sum().item(), b.sum().item(), c.sum().item()
        return a * whole + b * one + c * two * three


def test_what_is_waited_for_may_depend_on_three_depths_and_more(device: Any, codegen: Any, cache: Path) -> None:
    torch.manual_seed(0)
    model = DeepReads()
    instances = [(torch.randn(4), [i % 3, 2 * i % 5, i]) for i in range(6)]
    executable = compile(
        model, device=device, cache_folder=cache, checked=True, options=Options(codegen=codegen), sample=instances
    )
    double = copy.deepcopy(model).double()
    assert_same(executable(instances), [double(x.double(), rounds) for x, rounds in instances])
    if codegen == "aot":
        assert "awaited_depth" in executable.source.read_text()
