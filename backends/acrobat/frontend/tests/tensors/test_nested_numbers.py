"""`torch.tensor` and `new_tensor` of numbers in lists, tuples and named tuples, in any nesting: each expression in the
interpreter, compared with eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import random
from typing import NamedTuple

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

SOURCE = """
import torch
from torch import nn

from backends.acrobat.frontend.tests.tensors.test_nested_numbers import Box, Point

ANCHORS = [Box(0, 1, 2, 3), Box(4, 5, 6, 7)]
POINTS = (Point(0.5, 1.0), Point(1.5, 2.0))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
        self.table = {"a": [[1.0, 2.0], [3.0, 4.0]], "b": ((1, 2), (3, 4))}

    def forward(self, s):
        x, box, boxes, points, k, f = self.w, s["box"], s["boxes"], s["points"], s["k"], s["f"]
        return EXPRESSION
"""


class Box(NamedTuple):
    top: int
    left: int
    bottom: int
    right: int


class Point(NamedTuple):
    x: float
    y: float


class Segment(NamedTuple):
    a: Point
    b: Point


NAMED = [
    "x.new_tensor(box)",
    "torch.tensor(box)",
    "torch.tensor(box, dtype=torch.float)",
    "torch.as_tensor(box[:2], dtype=torch.float32)",
    "torch.Tensor(box), torch.FloatTensor(box), torch.LongTensor(box)",
    "torch.tensor(boxes)",
    "torch.tensor(boxes, dtype=torch.float32) * 0.5",
    "torch.tensor([[b, b] for b in boxes], dtype=torch.float)",
    "torch.tensor(points)",
    "torch.tensor(s['segment'])",
    "torch.tensor(s['segments'])",
    "torch.tensor([s['segment'], s['segment']])",
    "x.new_tensor(Box(1, 2, k, 4)), x.new_tensor(box._replace(top=3))",
    "x.new_tensor(ANCHORS), x.new_tensor(ANCHORS[k]), x.new_tensor(ANCHORS[0]), torch.tensor(POINTS)",
]

NESTED = [
    "torch.tensor(((1.0, 2.0), (3.0, f))), torch.tensor([(f, 1.0), (2.0, 3.0)])",
    "torch.tensor(((1, 2), (3, k))), torch.tensor([[1, 2], [f, 3]])",
    "torch.tensor([box, (0.5, 1.5, 2.5, 3.5)])",
    "torch.tensor([k, f, True])",
    "torch.tensor(self.table['a']) + torch.tensor(self.table['b'])",
    "torch.tensor(range(3)).float() + x.new_tensor(range(k + 1)).sum()",
    "torch.tensor([(b.top,) for b in boxes])",
    "torch.tensor([(b.top,) for b in boxes], dtype=torch.float) * 2",
    "torch.tensor([[(p.x, p.y), (p.y, p.x)] for p in points])",
    "torch.tensor([([p.x, p.y], (p.y, p.x)) for p in points])",
    "torch.tensor([([p.x for p in points], [p.y for p in points]) for b in boxes])",
    "torch.tensor([[[p.x * i for i in range(3)] for j in range(2)] for p in points])",
    "torch.tensor([[[p.x for p in points] for b in boxes] for i in range(k + 1)])",
    "torch.tensor([[[b.top for p in points] for b in boxes] for i in range(k + 1)]).float()",
    "torch.tensor([[[b.top, b.left], [b.left, 1]] for b in boxes], dtype=torch.float) + 1",
    "torch.tensor([[b.top for b in boxes], [b.left for b in boxes]])",
    "x.new_tensor([[b.top for b in boxes], [0.5 for b in boxes]])",
    "torch.tensor([(b.top > 3, b.left > 3) for b in boxes])",
    "torch.tensor([[b.top > 1 for b in boxes], [b.left > 2 for b in boxes]]).float()",
    "torch.tensor([[[b.top > 2 for p in points] for b in boxes] for i in range(k + 1)]).float()",
    "torch.tensor([x.sum(), x.max()]) + x.new_tensor([x.sum(), 1.0]), torch.tensor([(x * p.x).sum() for p in points])",
]
"""`k` is an int below 2, `f` a float; there are one to three `boxes`, and as many `points`."""


def instance(seed):
    numbers = random.Random(seed)

    def point():
        return Point(numbers.random(), numbers.random())

    def box():
        return Box(*(numbers.randrange(9) for _ in range(4)))

    def several(make):
        return [make() for _ in range(1 + seed % 3)]

    given = {"box": box(), "boxes": several(box), "points": several(point), "segment": Segment(point(), point())}
    return {**given, "segments": several(lambda: Segment(point(), point())), "k": seed % 2, "f": numbers.random()}


INSTANCES = [instance(seed) for seed in range(6)]


@pytest.mark.parametrize("expression", [*NAMED, *NESTED])
def test_numbers(expression, tmp_path):
    agrees(load(tmp_path, SOURCE.replace("EXPRESSION", expression), "nested_numbers").Model(), INSTANCES)


def test_natively(codegen, tmp_path):
    def forward(self, s):
        rows = [[[p.x for p in s["points"]] for _ in s["boxes"]] for _ in range(s["k"] + 1)]
        return torch.tensor(s["box"]), torch.tensor(s["boxes"]), torch.ones(2).new_tensor(s["segments"]), torch.tensor(rows)

    agrees_natively(with_forward(nn.Module(), forward), INSTANCES, codegen, tmp_path)


class Rows(nn.Module):
    def forward(self, xs):
        return torch.tensor(xs).sum()


class Pairs(nn.Module):
    def forward(self, xs):
        return torch.tensor([(rows[0], rows[-1]) for rows in xs]).sum()


class Stacked(nn.Module):
    def forward(self, xs):
        return torch.tensor([xs[0][0], xs[-1][-1]]).sum()


SQUARE = [[[1.0, 2.0], [3.0, 4.0]]]
UNEQUAL = {
    "in a row": [[[1.0, 2.0], [3.0]]],
    "in two rows": [[[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0]]],
    "rows": [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]],
}


@pytest.mark.parametrize("xs", UNEQUAL.values(), ids=UNEQUAL)
@pytest.mark.parametrize("cls", [Rows, Pairs, Stacked])
def test_lists_of_different_lengths_are_an_error_of_the_instance(cls, xs):
    sample = [SQUARE, [*SQUARE, *SQUARE], [[[1.0], [2.0]]], [[[1.0]]]]
    interpreter = Interpreter(build(cls(), sample=sample))
    try:
        expected = cls()(xs)
    except (ValueError, TypeError):
        with pytest.raises(InstanceError):
            interpreter.run(xs)
    else:
        assert float(interpreter.run(xs)) == float(expected)


REFUSED = {
    "torch.tensor([k, True])": "ints and bools together",
    "torch.tensor([[k, 1], [k > 0, k < 1]])": "bools beside numbers",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_bools_beside_numbers_are_refused(expression, tmp_path):
    with pytest.raises(CompileError, match=REFUSED[expression]):
        build(load(tmp_path, SOURCE.replace("EXPRESSION", expression), "nested_numbers").Model(), sample=INSTANCES)
