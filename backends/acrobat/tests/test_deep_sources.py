"""Long chains of branches, and tail recursions that are deep or never end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.codegen.bytecode import bytecode
from backends.acrobat.codegen.cpp import Types
from backends.acrobat.codegen.functions import FunctionWriter
from backends.acrobat.codegen.parts import parts_of
from backends.acrobat.codegen.units import Units
from backends.acrobat.deep import as_deep_as_needed
from backends.acrobat.errors import CompileError, ResourceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import interpret
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise, schedule_of


def chain(path: Path, length: int) -> nn.Module:
    lines = ["from torch import Tensor, nn", "class M(nn.Module):", "    def forward(self, op: int) -> int:"]
    for k in range(length):
        lines += [f"        if op == {k}:", f"            return {k * 7 % 1000}"]
    return load(path, "\n".join([*lines, "        return -1", ""])).M()


@pytest.mark.parametrize("length", [200, 2000])
def test_many_branches_in_a_row(tmp_path: Path, length: int) -> None:
    model = chain(tmp_path, length)
    program = build(model)
    for op in (0, 1, length - 1, length, -5):
        assert interpret(program, op) == model(op)


def test_many_branches_in_a_row_are_compiled(tmp_path: Path) -> None:
    model = chain(tmp_path, 200)
    ops = [0, 1, 199, 200, -5]
    assert compile(model)(ops) == [model(op) for op in ops]


def test_work_grows_with_the_number_of_branches_and_not_with_its_square(tmp_path: Path) -> None:
    """The work from the front end's program to code is counted in calls of Python functions."""

    def calls(length: int) -> int:
        program = build(chain(tmp_path, length))

        def run() -> None:
            schedule = schedule_of(optimise(program, Options()), Options())
            functions = FunctionWriter(schedule, Types({}), Units())
            written = [functions.write(f) for f in schedule.functions.values()]
            code = bytecode(schedule, Units())
            branches = sum(part.count("else") for part in parts_of(written[0].body) if isinstance(part, str))
            assert branches == length and len(code.constants) > length / 2

        return count_calls(run)

    assert as_deep_as_needed(lambda: calls(75)) < 3.3 * as_deep_as_needed(lambda: calls(25))


BRANCHES = """
        if op == {k}:
            x = torch.tanh(x) * {k}.5"""
STRAIGHT = """
        x = torch.tanh(self.layer(x)) + x"""


@pytest.mark.parametrize("round", [BRANCHES, STRAIGHT], ids=["branches with work", "straight work"])
def test_work_of_the_passes_grows_with_the_length_of_a_function(tmp_path: Path, round: str) -> None:
    """The work of passes and schedule is counted in calls of Python functions, and grows about linearly."""

    def calls(length: int) -> int:
        head = """
import torch
from torch import Tensor, nn
class M(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, op: int) -> Tensor:
        x = self.layer.weight[op]"""
        source = "".join([head, *(round.format(k=k) for k in range(length)), "\n        return x\n"])
        program = build(load(tmp_path, source).M())
        return count_calls(lambda: schedule_of(optimise(program, Options()), Options()))

    assert as_deep_as_needed(lambda: calls(60)) < 3.3 * as_deep_as_needed(lambda: calls(20))


def count_calls(run: Callable[[], object]) -> int:
    count = 0

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def test_branches_too_many_for_any_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from backends.acrobat import deep

    monkeypatch.setattr(deep, "FRAMES", 2000)
    with pytest.raises(CompileError, match="M or what it calls is nested too deeply"):
        build(chain(tmp_path, 1000))


@dataclass(frozen=True)
class Start:
    kind: int
    n: int


class Tail(nn.Module):
    """Tail recursions of one function and of two that call each other; with a negative number neither ends."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.ones(4))

    def down(self, n: int, total: int) -> int:
        if n == 0:
            return total
        return self.down(n - 1, total + n % 7)

    def even(self, n: int) -> int:
        return 1 if n == 0 else self.odd(n - 1)

    def odd(self, n: int) -> int:
        return 0 if n == 0 else self.even(n - 1)

    def forward(self, s: Start) -> tuple[int, Tensor]:
        if s.kind == 0:
            return self.down(s.n, 0), self.start
        return self.even(s.n), self.start


@pytest.fixture(scope="module", params=["aot", "vm"])
def tail(request: Any, cache: Path) -> Any:
    return compile(Tail(), cache_folder=cache, options=Options(codegen=request.param))


class TestTailRecursion:
    def test_that_is_deep(self, tail: Any) -> None:
        n = 100_000
        got = tail([Start(0, n), Start(1, n), Start(1, n + 1), Start(0, 0)])
        assert [g[0] for g in got] == [sum(k % 7 for k in range(n + 1)), 1, 0, 0]

    @pytest.mark.parametrize("kind", [0, 1])
    def test_that_never_ends(self, tail: Any, kind: int) -> None:
        with pytest.raises(ResourceError, match=r"instance 1: \S+ is nested too deeply.*the recursion may not end"):
            tail([Start(0, 3), Start(kind, -1)])
        assert tail([Start(0, 3)])[0][0] == 6
