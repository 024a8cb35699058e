"""The contexts of `with` statements: those that change nothing about what is computed compile, all others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees

TEXT = """
import contextlib
import torch




class Model(torch.nn.Module):
    def forward(self, x):
        about = contextlib.nullcontext() if self.training else torch.no_grad()
        with {written}:
            if x.size(0) > 2:
                return x + 1.0
            y = x * 2.0
        return y
"""
ROWS = [torch.ones(n, 2) for n in (3, 1, 0)]


def model(written: str, folder: Path) -> torch.nn.Module:
    text = TEXT.replace("{written}", written)
    module: torch.nn.Module = load(folder, text, f"contexts_{abs(hash(written))}").Model().eval()
    return module


@pytest.mark.parametrize(
    "written",
    [
        "torch.enable_grad()",
        "torch.set_grad_enabled(self.training), torch.no_grad()",
        "torch.autocast('cpu', enabled=False)",
        "torch.profiler.record_function('name')",
        "contextlib.nullcontext()",
        "about",
    ],
)
def test_contexts_that_change_nothing(written: str, tmp_path: Path) -> None:
    agrees(model(written, tmp_path), ROWS)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("torch.autocast('cpu', dtype=torch.bfloat16)", "`autocast` has tensors of other types than float32"),
        ("torch.no_grad() as about", r"`with torch.no_grad\(\)` gives nothing to name"),
        ("self.training", "what it does before and after its statements is not compiled"),
        ("open('text') as text", "`open`"),
    ],
)
def test_others_are_refused_alone(written: str, message: str, tmp_path: Path) -> None:
    """Names that the statement would give values to are no further problems."""
    with pytest.raises(CompileError, match=message) as error:
        build(model(written, tmp_path), sample=ROWS)
    (problem,) = error.value.problems
    assert problem.span.line == 11
