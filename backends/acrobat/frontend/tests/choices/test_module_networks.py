"""Neural module networks: programs of steps whose values are attention maps, numbers, strings or truths, in one list."""

# mypy: ignore-errors
# ruff: noqa: UP031, UP032
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

STEPS = [
    [("scene", []), ("filter", [0]), ("query", [1])],
    [("scene", []), ("count", [0])],
    [("scene", []), ("filter", [0]), ("query", [0]), ("query", [1]), ("equal", [2, 3])],
    [("scene", []), ("filter", [0]), ("union", [0, 1]), ("count", [2]), ("count", [1]), ("equal", [3, 4])],
    [("scene", []), ("count", [0]), ("query", [0]), ("equal", [1, 2])],
    [("scene", []), ("filter", [0]), ("exist", [1])],
]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.find = nn.Linear(3, 3)

    def execute(self, op, args):
        if op == "scene":
            return torch.ones(3)
        if op == "filter":
            return torch.sigmoid(self.find(args[0]))
        if op == "union":
            return torch.max(args[0], args[1])
        if op == "count":
            return min(round(args[0].sum().item()), 2)
        if op == "query":
            return ["cube", "sphere"][int(args[0].sum().item() > 2)]
        if op == "exist":
            return bool(args[0].max().item() > 0.5)
        if op == "equal":
            return "yes" if args[0] == args[1] else "no"
        raise KeyError(op)

    def values(self, program):
        values = []
        for op, inputs in program:
            values.append(self.execute(op, [values[i] for i in inputs]))
        return values


def answer_as_a_text(self, program):
    values = self.values(program)
    maps = [v.squeeze() for v in values if torch.is_tensor(v)]
    return str(values[-1]), maps[-1]


def in_texts(self, program):
    values = self.values(program)
    parts = [repr(v) for v in values if not torch.is_tensor(v)]
    return f"answer: {values[-1]}", "%s!" % values[-1], "{:>6}".format(str(values[-1]).upper()), ", ".join(parts)


def each_as_a_text_or_a_map(self, program):
    return [v if isinstance(v, torch.Tensor) else str(v) for v in self.values(program)]


def in_a_dictionary(self, program):
    values = {}
    for i, (op, inputs) in enumerate(program):
        values[i] = self.execute(op, [values[j] for j in inputs])
    last = values[len(program) - 1]
    return str(last), last, last == "yes"


def or_none(self, program):
    values = self.values(program)
    last = values[-1] if len(values) > 2 else None
    return str(last), f"{last}"


@pytest.mark.parametrize(
    "forward", [answer_as_a_text, in_texts, each_as_a_text_or_a_map, in_a_dictionary, or_none], ids=lambda f: f.__name__
)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(Network(), forward), STEPS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Network(), answer_as_a_text), STEPS, codegen, tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        [("scene", []), ("filter", [0])],
        [("scene", []), ("scene", []), ("equal", [0, 1])],
        [("scene", []), ("count", [0]), ("equal", [0, 1])],
        [("scene", []), ("count", [0]), ("filter", [1])],
    ],
    ids=["the text of a map", "two maps compared", "a map compared with a number", "a number for a map"],
)
def test_what_has_no_text_or_no_truth_is_an_error_of_the_instance(program: Any) -> None:
    interpreter = Interpreter(build(with_forward(Network(), answer_as_a_text), sample=STEPS))
    assert interpreter.run(STEPS[1])[0] == "2"
    with pytest.raises(InstanceError):
        interpreter.run(program)
