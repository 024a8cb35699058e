"""What `one_hot` gives, by a number of classes known at compile time or at run time only, is a tensor of ints everywhere; and
lists of masks put together."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 3], [4], [2, 2, 0, 1, 5]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 8)

    def enc(self, i, n):
        return F.one_hot(i, n)


def classes_of_run_time(self, xs):
    h = self.table(torch.tensor(xs))
    places = torch.tensor([x % len(xs) for x in xs])
    first = F.one_hot(torch.tensor(len(xs) // 2), len(xs)).float() @ h
    scores = h @ h.t()
    masked = scores.masked_fill(F.one_hot(places, num_classes=len(xs)).bool(), -1e9)
    best = F.one_hot(scores.argmax(-1), len(xs)).float() @ h
    return first, masked, best, F.one_hot(places, len(xs) + 1), F.one_hot(h[0].argmax(), len(xs) + 7)


def classes_counted(self, xs):
    marks = F.one_hot(torch.tensor(xs))
    return marks, marks.float().sum(0), marks.size(1), F.one_hot(torch.tensor(xs[0])), F.one_hot(torch.tensor([[1, 2], [3, 0]]))


def ints(self, xs):
    a, b = F.one_hot(torch.tensor(xs), 10), F.one_hot(torch.tensor([x // 2 for x in xs]), 10)
    h = self.table(torch.tensor(xs))
    return (
        (a, a + b, a * 3, 1 - a, a / 2, a == 1, a & b, a.sum(0), a.sum(), a[0], a[0, 1:3], a.t(), a.unsqueeze(0), a.cumsum(0)),
        (a * h.sum(1, keepdim=True), (a + b).float(), a.t().float(), a.bool().any(0), a.to(h.dtype).mean(0), a.argmax(-1)),
        (a.shape[1], len(a), a.dtype == torch.int64, a.type_as(h), a.flatten(), torch.is_tensor(a)),
    )


def handed_on(self, xs):
    total, last = torch.zeros(10), self.enc(torch.tensor(0), 10)
    for x in xs:
        last = self.enc(torch.tensor(x), 10)
        total = total + last
    changed = F.one_hot(torch.tensor(xs), 10)
    changed[0] = 1
    column = torch.tensor(xs).view(-1, 1)
    return total, last, changed, F.one_hot(column, 10), F.one_hot(column, len(xs) + 9)


def put_together(self, xs):
    h = self.table(torch.tensor(xs))
    flags = torch.stack([row > 0 for row in h]), torch.stack([h[0] > 0, h[0] < 1]), torch.cat([h > 0, h < -1], 1)
    marks = torch.stack([F.one_hot(torch.tensor(x), 10) for x in xs])
    return flags, marks, marks.float(), torch.cat([F.one_hot(torch.tensor(xs[0]), 10), F.one_hot(torch.tensor(xs[-1]), 10)])


def kinds(value):
    if isinstance(value, (tuple, list)):
        return [k for v in value for k in kinds(v)]
    return ["float" if value.is_floating_point() else value.dtype] if isinstance(value, torch.Tensor) else [type(value)]


@pytest.mark.parametrize("forward", [classes_of_run_time, classes_counted, ints, handed_on, put_together])
def test_as_in_eager_pytorch(forward):
    model = with_forward(Model(), forward)
    interpreter = Interpreter(agrees(model, SAMPLE))
    result = interpreter.run(SAMPLE[0])
    assert kinds(as_torch(result)) == kinds(model(SAMPLE[0]))


def as_torch(value):
    if isinstance(value, (tuple, list)):
        return [as_torch(v) for v in value]
    return value if isinstance(value, (bool, int, float)) else torch.as_tensor(value)


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, xs: F.one_hot(torch.tensor(xs[0]), 4),
        lambda self, xs: F.one_hot(torch.tensor(xs), 4).float(),
        lambda self, xs: F.one_hot(torch.tensor(xs), len(xs) + 2),
        lambda self, xs: F.one_hot(torch.tensor(xs[0]), len(xs) + 2).float(),
        lambda self, xs: F.one_hot(torch.tensor(xs)),
    ],
)
def test_a_class_that_is_not_there_is_an_error(forward):
    program = Interpreter(build(with_forward(Model(), forward), sample=[[1, 2], [0, 3]]))
    with pytest.raises(InstanceError):
        program.run([-1, 2])
    program.run([3, 2])


@pytest.mark.parametrize(
    "forward", [lambda self, xs: F.one_hot(torch.tensor(xs), 4), lambda self, xs: self.enc(torch.tensor(xs), len(xs))]
)
def test_a_class_above_the_number_is_an_error(forward):
    with pytest.raises(InstanceError):
        Interpreter(build(with_forward(Model(), forward), sample=[[1, 0], [0, 1, 2]])).run([1, 7])
