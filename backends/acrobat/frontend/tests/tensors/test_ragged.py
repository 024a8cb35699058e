"""Tensors whose extents vary between instances: each expression in the interpreter, compared with eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 3)
        self.norm = nn.LayerNorm(4)
        self.table = nn.Embedding(9, 4)
        self.w = nn.Parameter(torch.randn(4, 4))
        self.q = nn.Parameter(torch.randn(4))

    def forward(self, s):
        x, y, v, ids, n = s["x"], s["y"], s["v"], s["ids"], s["n"]
        return {expression}
"""

EXPRESSIONS = [
    "x + 1.0",
    "2.0 * x - v.unsqueeze(1)",
    "x * self.q",
    "-x / (x * x + 1.0)",
    "torch.tanh(x) + torch.sigmoid(v)[:, None]",
    "torch.maximum(x, -x).sum()",
    "x.abs().mean(dim=0)",
    "self.lin(x)",
    "self.norm(x)",
    "x @ self.w",
    "x @ self.q",
    "self.w @ x.t()",
    "self.q @ x.T",
    "x @ x.transpose(0, 1)",
    "x.t() @ x",
    "v @ x",
    "x @ y.t()",
    "torch.softmax(x @ y.t(), dim=1) @ y",
    "torch.softmax(x @ y.t(), dim=0)",
    "F.softmax(v, dim=0)",
    "F.log_softmax(v, dim=-1)",
    "F.log_softmax(x, dim=1)",
    "x.sum(dim=0)",
    "x.sum(dim=1)",
    "x.sum(dim=0, keepdim=True)",
    "x.mean()",
    "x.mean(0)",
    "x.max(dim=0)[0]",
    "x.max(dim=0).values",
    "x.amax(0, True)",
    "x.min(dim=1)[0] if False else x.amin(1)",
    "v.max()",
    "v.argmax().item()",
    "(x @ y.t()).argmax(dim=0)",
    "(x @ y.t()).argmax(dim=1)",
    "(x @ y.t()).sum(0)",
    "(x @ y.t()).sum()",
    "(x @ y.t()).mean(dim=1)",
    "(x @ y.t()).max(dim=1)[0]",
    "x.unsqueeze(0)",
    "x.unsqueeze(1)",
    "x.unsqueeze(-1).squeeze(-1)",
    "x.view(-1, 2, 2)",
    "x.view(x.size(0), 1, -1)",
    "x.reshape(len(x), 2, 2).transpose(0, 1)",
    "x.view(-1, 2, 2).permute(1, 2, 0)",
    "x.unsqueeze(0).transpose(1, 2)",
    "v.view(1, -1)",
    "x[0]",
    "x[-1]",
    "x[0, 1]",
    "x[:, 1]",
    "x[:, 1:3]",
    "x[..., 2]",
    "x[None]",
    "x[1:]",
    "x[:-1]",
    "x[n - 1]",
    "x[: n - 1].sum(0)",
    "x[ids[0] % 1]",
    "sum([x, x * 0.5, x * 2.0]) / 3",
    "sum([h(x) for h in (torch.tanh, torch.relu)])",
    "[row * 2.0 for row in x]",
    "[x[i] for i in range(x.size(0))]",
    "[(row @ self.q, 1.0) for row in x]",
    "torch.stack([row + self.q for row in x])",
    "torch.stack([row for row in x], dim=1)",
    "torch.stack([v, v])",
    "torch.stack([x, x + 1.0], dim=1)",
    "torch.cat([x, y])",
    "torch.cat([x, x * 2.0], dim=1)",
    "torch.cat([x, torch.zeros(1, 4)], dim=0)",
    "torch.cat([v.unsqueeze(1), x], dim=-1)",
    "torch.cat([row.unsqueeze(0) for row in x])",
    "torch.cat([torch.stack([row, row]) for row in x])",
    "torch.cat([torch.cat([x, y]) for _ in range(2)])",
    "x.chunk(2, dim=1)[1]",
    "x.split([1, 3], dim=-1)[1] * x.split(1, dim=1)[0]",
    "x.unbind(1)[2]",
    "list(x.unbind(0))",
    "self.table(ids)",
    "self.table(ids).sum(0)",
    "self.table.weight[ids]",
    "self.table(torch.tensor([i for i in ids])).mean(0)",
    "self.table(torch.tensor([ids[0], 3, 4]))",
    "x[torch.tensor([0 for _ in range(n)])]",
    "len(ids) + x.size(0) + x.shape[1] + ids.shape[0]",
    "ids",
    "ids.sum().item()",
    "(v, x, ids)",
    "torch.arange(n)",
    "torch.zeros(n, 3) + 1.0",
    "torch.ones(n, n) @ x",
    "torch.zeros_like(x) + x",
    "x.new_zeros(2, 4)",
    "x[0].unsqueeze(0).repeat(n, 1) * x",
    "x.expand_as(x)",
    "F.mse_loss(x, x * 2.0)",
    "F.normalize(x, dim=1)",
    "F.cosine_similarity(x, self.q.unsqueeze(0), dim=-1)",
    "F.leaky_relu(x, 0.2) + F.elu(x) + F.silu(x) + F.softplus(x)",
    "x.clamp(-0.5, 0.5)",
    "x.norm(dim=1)",
    "torch.logsumexp(x, dim=0)",
    "torch.logsumexp(v, dim=0)",
    "torch.outer(v, v) @ v",
    "v.tolist()",
    "x.contiguous().detach()",
    "x.dim() + x.ndim",
]
"""`x` has shape (n, 4), `y` (m, 4), `v` (n,); `ids` has n ints."""

REFUSED = {
    "x.view(2, -1)": "cannot move elements across",
    "x.chunk(2.5, dim=0)": "along an extent that varies takes an int",
    "x.nanquantile(1)": "`nanquantile` is not an operation of the language",
}


def instance(n: int, m: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(100 * n + m)
    x, y, v = (torch.randn(*shape, generator=generator) for shape in ((n, 4), (m, 4), (n,)))
    return {"x": x, "y": y, "v": v, "ids": torch.arange(n) % 9, "n": n}


SAMPLE = [instance(2, 3), instance(4, 1), instance(1, 2)]


def model_of(expression: str, folder: Path) -> torch.nn.Module:
    module = load(folder, HEAD.replace("{expression}", expression), f"ragged_{abs(hash(expression))}")
    model: torch.nn.Module = module.Model().eval()
    return model


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str, tmp_path: Path) -> None:
    agrees(model_of(expression, tmp_path), SAMPLE, [instance(n, m) for n, m in ((1, 1), (3, 2), (1, 4), (5, 5))])


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(expression: str, tmp_path: Path) -> None:
    model = model_of(expression, tmp_path)
    with pytest.raises(CompileError) as error:
        build(model, sample=SAMPLE)
    assert REFUSED[expression] in str(error.value)


def test_a_softmax_over_nothing_is_nothing(tmp_path: Path) -> None:
    model = model_of("(F.softmax(v, dim=0), x.sum(0))", tmp_path)
    given = {
        "x": torch.zeros(0, 4),
        "y": torch.zeros(1, 4),
        "v": torch.zeros(0),
        "ids": torch.zeros(0, dtype=torch.int64),
        "n": 0,
    }
    shares, total = as_tensors(Interpreter(build(model, sample=SAMPLE)).run(given))
    assert shares.numel() == 0
    assert total.tolist() == [0.0] * 4


def test_extents_that_differ_are_an_error_of_the_instance(tmp_path: Path) -> None:
    interpreter = Interpreter(build(model_of("x + y", tmp_path), sample=SAMPLE))
    assert interpreter.run(instance(3, 3)).shape == (3, 4)
    for n, m in ((2, 3), (3, 2)):
        with pytest.raises(InstanceError):
            interpreter.run(instance(n, m))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x": torch.zeros(2, 5)}, "instance['x']: expected a tensor of shape (n, 4), got one of shape (2, 5)"),
        ({"x": [1.0]}, "instance['x']: expected a tensor, got list"),
        ({"z": 1}, "expected a dict of ids, n, v, x, y, got dict"),
    ],
)
def test_an_instance_outside_the_sample_says_where(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    interpreter = Interpreter(build(model_of("x.sum() + y.sum()", tmp_path), sample=SAMPLE))
    with pytest.raises(InstanceError) as error:
        interpreter.run({**instance(2, 2), **change})
    assert told in str(error.value)
