"""Idioms of transformers and generators of text: each small model in the interpreter against eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

LENGTHS = (3, 1, 5)


@dataclass
class Output:
    """What an encoder gives; a field that was not asked for is None."""

    last: Tensor
    pooled: Tensor | None = None
    hidden: tuple[Tensor, ...] | None = None


class Scores(NamedTuple):
    last: Tensor
    logits: Tensor | None = None


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x, output_hidden_states=False):
        hidden = () if output_hidden_states else None
        for layer in self.layers:
            if output_hidden_states:
                hidden = (*hidden, x)
            x = torch.tanh(layer(x))
        return Output(last=x, hidden=hidden)


class ModelOutputs(nn.Module):
    """Classes of results whose fields are None in one place and tensors in another, or None everywhere."""

    def __init__(self, hidden: bool):
        super().__init__()
        self.encoder = Encoder()
        self.pooler = nn.Linear(4, 4)
        self.hidden = hidden

    def pool(self, x):
        found = self.encoder(x, output_hidden_states=self.hidden)
        return Output(last=found.last, pooled=self.pooler(found.last[0]), hidden=found.hidden)

    def score(self, x):
        found = Scores(last=x)
        return Scores(last=found.last, logits=self.pooler(x).sum(0)) if found.logits is None else found

    def forward(self, x):
        found = self.pool(x)
        extra = found.hidden[-1] if found.hidden is not None else x
        return found.pooled, extra, self.score(found.last).logits


CASES: dict[str, tuple[Any, Any]] = {
    "fields that are None": (lambda: ModelOutputs(False), lambda: [torch.randn(n, 4) for n in LENGTHS]),
    "a tuple of hidden states": (lambda: ModelOutputs(True), lambda: [torch.randn(n, 4) for n in LENGTHS]),
}


@pytest.mark.parametrize("name", CASES)
def test_idiom(name: str) -> None:
    torch.manual_seed(0)
    made, instances = CASES[name]
    module, sample = made().eval(), instances()
    program = build(module, sample=sample)
    verify(program)
    interpreter = Interpreter(program)
    for x in sample:
        with torch.no_grad():
            expected = module(*x) if isinstance(x, tuple) else module(x)
        assert_same(as_tensors(interpreter.run(x)), expected, name)
