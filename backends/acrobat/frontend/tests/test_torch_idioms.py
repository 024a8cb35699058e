"""Idioms of models that are written for PyTorch alone: each small model in the interpreter against eager PyTorch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

LENGTHS = (3, 1, 5)


@dataclass
class Config:
    d: int = 4
    scale: float = 0.5
    act: str = "tanh"


class Pooling:
    """An object that is no module, but is called as one, and has methods that call each other."""

    def __init__(self, power, layer):
        self.power = power
        self.layer = layer

    @property
    def factor(self):
        return 2.0 * self.power

    def weighted(self, x):
        return self.layer(x) * self.factor

    def __call__(self, x):
        return self.weighted(x).sum(0)


class HeldObjects(nn.Module):
    """A configuration, a namespace, a helper object that refers to a layer of the model, and a tensor as plain attributes."""

    def __init__(self):
        super().__init__()
        self.config = Config()
        self.args = argparse.Namespace(bias=True, names=["a", "b"])
        self.layer = nn.Linear(4, 4)
        self.pool = Pooling(1.5, self.layer)
        self.signal = torch.linspace(0.0, 1.0, 4)
        self.stages: list[Any] = [self.layer, torch.tanh]

    def forward(self, x):
        y = self.pool(x * self.config.scale)
        if self.args.bias and self.config.act == "tanh":
            y = torch.tanh(y + self.signal)
        for stage in self.stages:
            y = stage(y)
        return y * len(self.args.names)


class SeveralArguments(nn.Module):
    """A `forward` of two arguments and a third that has a default, which also calls itself."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, depth, mask=None, *, scale=2.0):
        if depth == 0:
            return x.sum(0) if mask is None else x.sum(0) * mask
        return self.forward(self.layer(x), depth - 1) * scale


class Defaults(nn.Module):
    """A `forward` whose other arguments have defaults."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, targets=None, steps=2, *rest, **kwargs):
        for _ in range(steps):
            x = self.layer(x)
        if targets is not None:
            return x, nn.functional.mse_loss(x, targets)
        return x, None


class BatchOfOneSentence(nn.Module):
    """Ids of shape (1, n) with positions and a mask of padding, as models that are written for batches have them."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4)
        self.positions = nn.Embedding(20, 4)

    def forward(self, idx):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.words(idx) + self.positions(pos.expand(b, t))
        mask = (idx != 3).unsqueeze(1)
        scores = (x @ x.transpose(1, 2)).masked_fill(mask == 0, -1e9)
        kept = (idx > 2).float().sum()
        return torch.softmax(scores, -1) @ x, idx, idx.float(), kept, x[:, 0], idx[0], idx.view(-1), idx[:, 1:], idx.flatten(1)


class SentenceFirst(nn.Module):
    """Ids of shape (n, 1), and masks of two varying extents."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4)

    def forward(self, src):
        i = torch.arange(src.size(0))
        later = i[None, :] >= i[:, None]
        x = self.words(src)
        ids = src.squeeze(1)
        return x.mean(0), self.words(src.t()), ids, self.words(ids[None, None]), src, later.float(), (ids[:, None] < 5).float()


def rows() -> list[Any]:
    return [torch.randn(n, 4) for n in LENGTHS]


CASES: list[tuple[type[nn.Module], Any]] = [
    (HeldObjects, rows),
    (SeveralArguments, lambda: [(x, i) for i, x in enumerate(rows())]),
    (Defaults, rows),
    (BatchOfOneSentence, lambda: [torch.randint(0, 20, (1, n)) for n in LENGTHS]),
    (SentenceFirst, lambda: [torch.randint(0, 20, (n, 1)) for n in LENGTHS]),
]


@pytest.mark.parametrize(("cls", "instances"), CASES, ids=[c[0].__name__ for c in CASES])
def test_idiom(cls: type[nn.Module], instances: Any) -> None:
    torch.manual_seed(0)
    module, sample = cls().eval(), instances()
    program = build(module, sample=sample)
    verify(program)
    interpreter = Interpreter(program)
    for x in sample:
        with torch.no_grad():
            expected = module(*x) if isinstance(x, tuple) else module(x)
        assert_same(as_tensors(interpreter.run(x)), expected, cls.__name__)


def test_changes_of_held_objects_are_noticed() -> None:
    module, sample = HeldObjects().eval(), rows()
    executable = compile(module, sample=sample)
    before = executable(sample)
    module.config.scale = 0.25
    with pytest.raises(ModuleChanged, match=r"scale` was 0.5"):
        executable(sample)
    module.config.scale = 0.5
    module.signal += 1.0
    with pytest.raises(ModuleChanged, match="`signal` was changed in place"):
        executable(sample)
    executable.load(module)
    after = executable(sample)
    with torch.no_grad():
        assert_same(as_tensors(after), [module(x) for x in sample], "with the new tensor")
    assert not torch.allclose(before[0], after[0])
