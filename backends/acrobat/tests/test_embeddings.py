"""As in eager PyTorch, a negative index is an error for an embedding, but counts from the end for the embedding's weight."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import interpret
from backends.acrobat.options import Options


@dataclass(frozen=True)
class Words:
    called: int
    indexed: int


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)

    def forward(self, words: Words) -> Tensor:
        called: Tensor = self.embedding(torch.tensor(words.called))
        return called + 2.0 * self.embedding.weight[words.indexed]


def test_negative_indices(cache: Path, codegen: Any) -> None:
    model = Table()
    executable = compile(model, cache_folder=cache, checked=True, options=Options(codegen=codegen))
    good = [Words(0, -1), Words(4, -5), Words(2, 3)]
    torch.testing.assert_close(executable(good), [model(w).detach() for w in good])
    for wrong in (-1, -5, -6, 5, 2**40):
        with pytest.raises(IndexError):
            model(Words(wrong, 0))
        with pytest.raises(InstanceError, match=rf"instance 1: index {wrong} is out of range"):
            executable([good[0], Words(wrong, 0)])
        with pytest.raises(InstanceError, match=rf"index {wrong} is out of range"):
            interpret(build(model), Words(wrong, 0))


class Written(Table):
    def forward(self, words: Words) -> Tensor:
        found: Tensor = self.embedding(torch.tensor(-1))
        return found


def test_a_written_index() -> None:
    with pytest.raises(CompileError, match="index -1 is out of range: the embedding has 5 rows"):
        build(Written())
