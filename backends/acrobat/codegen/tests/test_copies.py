"""Functions that differ in numbers only become one C++ function, which with the numbers of each is what it was alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.codegen import copies
from backends.acrobat.codegen.copies import Copies
from backends.acrobat.codegen.cpp import Types
from backends.acrobat.codegen.functions import FunctionWriter
from backends.acrobat.codegen.module import collect_units
from backends.acrobat.codegen.unit_writer import UnitWriter
from backends.acrobat.frontend import build
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise, schedule_of
from backends.acrobat.tests.zoo.models import CASES

TABLE = re.compile(r"static const int kNumbers_\d+\[\] = \{(.*)\};")
SAMPLE = [[1], [2, 3], [8, 0, 4], [5, 5, 6, 7, 1]]


class Step(nn.Module):
    """A recursion, which is no part of the function that calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.gate = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, h: Tensor, left: int) -> Tensor:
        h = torch.tanh(self.inner(h))
        if left > 0 and torch.sigmoid(self.gate(h)) > 0.5:
            return self.forward(h, left - 1)
        return h


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps, self.norm = nn.ModuleList([Step(), Step()]), nn.Linear(4, 4)

    def forward(self, h: Tensor, rounds: int) -> Tensor:
        if self.norm(h).sum() > 0:
            h = self.norm(h) - h
        h = h + self.steps[0](h, rounds)
        if rounds > 1:
            h = self.forward(h, rounds - 1)
        return h * self.steps[1](h, 2)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.layers = nn.Embedding(9, 4), nn.ModuleList([Layer(), Layer(), Layer()])

    def forward(self, xs: list[int]) -> Tensor:
        h = self.table.weight[0]
        for x in xs:
            h = h + self.table(torch.tensor(x))
        for layer in self.layers:
            h = layer(h, len(xs))
        return h


def alone_and_joined(model: nn.Module, sample: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Copies, Copies, list[str]]:
    """The functions of a model, each alone and with its copies, and the names of the units."""
    program = optimise(build(model, sample=sample), Options())
    schedule, units = schedule_of(program, Options()), collect_units(program)
    names = {name: f"f{i}_" for i, name in enumerate(schedule.functions)}
    writer = FunctionWriter(schedule, Types(program.datatypes), units)
    written = {name: writer.write(f) for name, f in schedule.functions.items()}
    made = []
    for length in (10**9, 0):
        monkeypatch.setattr(copies, "LONG", length)
        recorders = [UnitWriter.recorder(code) for code in units]
        made.append(Copies(written, names, [code.name for code in units], recorders, program.entry))
    return made[0], made[1], [code.name for code in units]


def with_numbers(joined: Copies, alone: Copies, units: list[str]) -> dict[str, str]:
    """The body of each function, that of a group with the numbers of each that it stands for in their places."""
    rows = [m[1].split(", ") for m in map(TABLE.fullmatch, joined.tables) if m]
    heads = {group[0]: re.search(r"\w+(?=\(Session& s)", head) for group, head in zip(alone.groups, alone.heads, strict=True)}
    called = {number: f"model::{head[0]}(s" for name, number in joined.table.items() if (head := heads[name])}
    bodies = {}
    for group, body in zip(joined.groups, joined.bodies, strict=True):
        for name in group:
            text = body
            for i, number in enumerate(rows[joined.table[name]] if len(group) > 1 else []):
                text = text.replace(f"numbers[{i}]", number)
            text = re.sub(r"enter_\w+\(cx, (\d+), ", lambda m: f"record_{units[int(m[1])]}(cx, ", text)
            text = re.sub(r"model::\w+\(s, kTables\[(\d+)\]", lambda m: called[int(m[1])], text)
            bodies[name] = text.split("\n", 2)[2]
    return bodies


def check(model: nn.Module, sample: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Compares each function with the one that stands for it; gives the groups of several."""
    alone, joined, units = alone_and_joined(model, sample, monkeypatch)
    wanted = {group[0]: body.split("\n", 2)[2] for group, body in zip(alone.groups, alone.bodies, strict=True)}
    assert with_numbers(joined, alone, units) == wanted
    return [group for group in joined.groups if len(group) > 1]


def test_a_layer_for_the_weights_of_each_of_its_copies_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = check(Layers().eval(), SAMPLE, monkeypatch)
    assert 3 in map(len, groups)


def test_functions_of_a_model_of_the_zoo_are_what_they_were_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = [case for case in CASES if case.name == "gathered_experts"]
    assert check(case.module(), case.instances(12, seed=99), monkeypatch) == [["MoELayer.forward", "MoELayer.forward_1"]]


def test_results_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Layers().eval()
    monkeypatch.setattr(copies, "LONG", 0)
    executable = compile(model, sample=SAMPLE, checked=True, cache_folder=tmp_path)
    assert "kTables[1]" in executable.source.read_text()
    with torch.no_grad():
        for batch in (SAMPLE, [[3, 3, 3]], SAMPLE * 3):
            for got, x in zip(executable(batch), batch, strict=True):
                torch.testing.assert_close(got, model(x), rtol=1e-4, atol=1e-4)
