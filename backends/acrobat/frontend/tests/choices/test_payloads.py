"""Requests whose payload is of another type for each task, which another field tells: each branch uses the payload as what it
is, against eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Task(Enum):
    CURVE = auto()
    PAIR = auto()
    TEXT = auto()
    ROW = auto()


@dataclass
class Request:
    task: Task
    payload: Any


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv1d(1, 4, 3, padding=1)
        self.word = nn.Embedding(5, 4)
        self.pair = nn.Linear(6, 4)

    def forward(self, request: Request) -> Any:
        if request.task is Task.CURVE:
            return self.conv(request.payload[None, None]).amax(-1)[0]
        if request.task is Task.PAIR:
            return self.pair(torch.cat([request.payload[0], request.payload[-1]]))
        if request.task is Task.TEXT:
            return self.word.weight[: len(request.payload.split())].sum(0)
        return self.pair.bias * request.payload["age"]


def vectors(*sizes: int) -> list[Any]:
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(n, generator=generator) for n in sizes]


CURVES = [Request(Task.CURVE, x) for x in vectors(3, 5, 2)]
PAIRS = [Request(Task.PAIR, tuple(vectors(3, 3))), Request(Task.PAIR, tuple(vectors(3, 3)[::-1]))]
ALL = [*CURVES, *PAIRS, Request(Task.TEXT, "a b"), Request(Task.ROW, {"age": 2.5, "size": 1.0})]


def test_each_branch_takes_its_own() -> None:
    agrees(Router(), ALL)


def test_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(Router().eval(), ALL, "vm", tmp_path)


def test_a_payload_of_another_task_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(Router().eval(), sample=ALL))
    for wrong in (Request(Task.CURVE, PAIRS[0].payload), Request(Task.CURVE, "a"), Request(Task.PAIR, "b")):
        with pytest.raises(InstanceError, match="TypeError"):
            interpreter.run(wrong)


def test_items_by_an_int_of_run_time() -> None:
    def forward(self: Any, request: Request) -> Any:
        last = len(request.payload) - 1
        if request.task is Task.PAIR:
            return request.payload[last].sum()
        return request.payload[last] * 2.0

    agrees(with_forward(Router(), forward), [*CURVES, *PAIRS])


def test_what_none_of_the_types_takes_is_a_problem_of_the_model() -> None:
    def forward(self: Any, request: Request) -> Any:
        return request.payload[0, 0, 0]

    with pytest.raises(CompileError, match="payload"):
        build(with_forward(Router(), forward), sample=[*CURVES, *PAIRS])
