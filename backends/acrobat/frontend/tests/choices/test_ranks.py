"""Instances with tensors of several ranks in one place, which tests of the rank tell apart. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, assert_same, with_forward

torch.manual_seed(0)
IMAGES = [torch.randn(3, 5, 4), torch.randn(2, 4), torch.randn(1, 2, 4), torch.randn(6, 4)]
ROWS = [torch.randn(4), torch.randn(2, 4), torch.randn(4), torch.randn(6, 4)]
IDS = [torch.tensor([1, 2, 3]), torch.tensor([[1, 2]]), torch.tensor([0])]


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(4, 3)
        self.e = nn.Embedding(5, 4)

    def score(self, x):
        if x.ndim < 2:
            x = x.unsqueeze(0)
        return self.l(x).sum(0)


def with_channels(self, image):
    if image.dim() == 2:
        image = image.unsqueeze(0)
    channels, height, _ = image.shape
    return self.l(image).sum((1, 2)), channels, height


def chosen(self, image):
    image = image if image.ndim == 3 else image[None]
    rows = image.mean(0)
    return rows if rows.size(0) > 2 else self.l(rows)


def returned(self, x):
    if len(x.shape) == 1:
        return self.l(x)
    return self.l(x).sum(0)


def put_back(self, x):
    single = x.dim() == 1
    if single and isinstance(x, torch.Tensor):
        x = x.unsqueeze(0)
    y = self.l(x)
    return y.squeeze(0) if single else y.sum(0)


def without_a_test(self, x):
    return self.l(x).sum(), x.size(-1), x.numel(), x * 2


def checked(self, image):
    if image.dim() != 3:
        assert image.dim() == 2
        image = image.unsqueeze(0)
    return torch.stack([self.l(plane).sum(0) for plane in image])


def in_a_function(self, x):
    return self.score(x) + 1


def in_a_pair(self, pair):
    x, n = pair
    if x.dim() == 1:
        x = x[None]
    return self.l(x) * n


def in_a_list(self, xs):
    return [self.l(x if x.dim() == 2 else x.unsqueeze(0)).sum(0) for x in xs]


def of_ints(self, ids):
    if ids.dim() == 1:
        ids = ids.unsqueeze(0)
    return self.e(ids), ids.size(1), ids


CASES = [
    (with_channels, IMAGES),
    (chosen, IMAGES),
    (returned, ROWS),
    (put_back, ROWS),
    (without_a_test, ROWS),
    (checked, IMAGES),
    (in_a_function, ROWS),
    (in_a_pair, [(x, i) for i, x in enumerate(ROWS)]),
    (in_a_list, [ROWS, ROWS[:1]]),
    (of_ints, IDS),
]


@pytest.mark.parametrize(("function", "instances"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function: Any, instances: Any) -> None:
    agrees(with_forward(Scorer(), function), instances)


def test_in_generated_code(codegen: Any, tmp_path: Path) -> None:
    model = with_forward(Scorer(), with_channels)
    executable = compile(model, sample=IMAGES, options=Options(codegen=codegen), cache_folder=tmp_path)
    derived = [nn.Parameter(x) for x in IMAGES]
    for instances in (IMAGES, derived):
        for i, result in enumerate(executable(instances)):
            assert_same(result, model(IMAGES[i]), f"instance {i}")
    with pytest.raises(InstanceError, match="expected a tensor of rank 2 or a tensor of rank 3, got a value of type Tensor"):
        executable([torch.ones(4)])


def test_a_rank_that_the_sample_lacks_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(Scorer(), returned), sample=ROWS))
    with pytest.raises(InstanceError, match="add such an instance to the sample"):
        interpreter.run(torch.ones(2, 3, 4))
