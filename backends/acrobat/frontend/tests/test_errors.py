"""What lies outside the language: the whole message, with its line, caret and advice; all problems of a model together."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load

HEAD = """from __future__ import annotations
from dataclasses import dataclass
from functools import reduce
from typing import Annotated
import torch
from torch import Tensor, nn
@dataclass(frozen=True)
class In:
    x: Annotated[Tensor, 4]
    n: int
@dataclass(frozen=True)
class Leaf:
    v: int
@dataclass(frozen=True)
class Node:
    v: int
    left: Leaf | Node
@dataclass(frozen=True)
class Box:
    x: Tensor
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.cells = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
class M(Base):
"""


def message(path: Path, body: str) -> str:
    """What compiling the model with `body` as its methods says, with `model.py` for the file."""
    lines = body.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    module = load(path, HEAD + "\n".join("    " + line[indent:] for line in lines) + "\n", "model")
    with pytest.raises(CompileError) as error:
        build(module.M())
    return str(error.value).replace(str(path / "model.py"), "model.py").replace(f"model.py:{0}", "model.py")


CASES = [
    (
        """
        def forward(self, s: In) -> Tensor:
            return torch.fft.rfft(s.x)
        """,
    ),
]
