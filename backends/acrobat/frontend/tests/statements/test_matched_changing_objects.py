"""Class patterns with fields of objects that the model changes, which have several names."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 5, 1, 2, 0, 1], [5, 3, 6, 1, 0, 0, 2, 1, 1], [1], [6, 4, 3, 2]]


@dataclass
class Line:
    number: int
    kind: str
    code: int = 0


@dataclass
class Section:
    name: str
    body: list = field(default_factory=list)


def parse(numbers):
    stack = [Section("root")]
    for i, n in enumerate(numbers):
        if n > 4:
            section = Section(f"section{n}")
            stack[-1].body.append(section)
            stack.append(section)
        elif n == 0:
            if len(stack) > 1:
                stack.pop()
        else:
            stack[-1].body.append(Line(i, "trace" if n == 1 else "exit" if n == 2 else "info", n - 2))
    return stack[0]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.cell = nn.Linear(4, 4)

    def scan(self, section, h, out):
        skip = False
        for part in section.body:
            match part:
                case Section(body=[]):
                    continue
                case Section():
                    h = h + self.scan(part, h * 0.5, out)
                    skip = False
                case Line(kind="trace") if skip:
                    continue
                case Line(kind="exit", code=0):
                    skip = True
                case Line(number, kind=kind):
                    h = torch.tanh(self.cell(h) + self.emb.weight[number])
                    out.append((number, kind))
                    skip = kind == "trace"
        return h


def read(self, numbers):
    out = []
    return self.scan(parse(numbers), self.emb.weight[0], out), out


def test_as_eager() -> None:
    agrees(with_forward(Reader(), read), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Reader(), read), NUMBERS, codegen, tmp_path)
