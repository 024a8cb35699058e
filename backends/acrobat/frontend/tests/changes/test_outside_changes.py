"""Changes of what stands outside of the functions, such as a list of the file: constants of the program, so an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load

HEAD = """
import torch
import torch.nn as nn

SEEN = [0]
TABLE = {}
ROW = torch.zeros(3)


class Settings:
    count = 0


SETTINGS = Settings()


class Model(nn.Module):
    def forward(self, xs):
"""


@pytest.mark.parametrize(
    "change",
    [
        "SEEN[0] += 1",
        "SEEN[0:1] = xs",
        "SEEN[0], b = xs[0], 1",
        "SEEN.append(1)",
        "SEEN.reverse()",
        "TABLE[len(xs)] = 1",
        "ROW[0] = 1.0",
        "SETTINGS.count += 1",
        "Settings.count = len(xs)",
        "Model.count = len(xs)",
    ],
)
def test_what_is_outside_is_not_changed(tmp_path: Path, change: str) -> None:
    body = f"        {change}\n        return len(xs) + SEEN[0] + SETTINGS.count\n"
    module = load(tmp_path, HEAD + body, "outside_changes")
    with pytest.raises(CompileError, match="which is outside of the function and a constant of the compiled program"):
        build(module.Model(), sample=[[1], [2, 3]])
