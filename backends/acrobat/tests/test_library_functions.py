"""Functions of the library against PyTorch, as the compiler reads them: on tensors of fixed extents, and on such of which one
varies, also of no rows and of one row."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.library import gamma
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same

TEXT = """
import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        {text}
"""

VECTOR, MATRIX, ROWS, IMAGE = (5,), (3, 4), (None, 4), (1, 2, 5, 6)
SIZES, NOT_EMPTY = (3, 0, 1, 6), (3, 1, 6)
GRID = "F.affine_grid(x[:, 0, :2, :3], (1, 2, 3, 4), align_corners={aligned})"

CASES: list[tuple[str, tuple[int | None, ...], tuple[int, ...]]] = [
    ("torch.lgamma(x * 9.0)", ROWS, SIZES),
    ("torch.lgamma(x.round())", MATRIX, NOT_EMPTY),
    ("torch.digamma(x * 9.0)", ROWS, SIZES),
    ("torch.special.digamma(x.floor() + 0.5), torch.special.gammaln(x)", MATRIX, NOT_EMPTY),
    ("F.interpolate(x, size=(7, 9))", IMAGE, NOT_EMPTY),
    ("F.interpolate(x, scale_factor=(0.5, 1.7), mode='nearest-exact')", IMAGE, NOT_EMPTY),
    ("F.interpolate(x, size=(10, 4), mode='bilinear')", IMAGE, NOT_EMPTY),
    ("F.interpolate(x, scale_factor=0.7, mode='bilinear', recompute_scale_factor=True)", IMAGE, NOT_EMPTY),
    ("F.interpolate(x, scale_factor=1.5, mode='linear')", (1, 4, None), NOT_EMPTY),
    ("F.interpolate(x, size=x.size(2) + 2)", (1, 4, None), NOT_EMPTY),
    (f"F.grid_sample(x, {GRID.format(aligned=False)}, align_corners=False)", IMAGE, NOT_EMPTY),
    (f"F.grid_sample(x, {GRID.format(aligned=True)} * 2.0, padding_mode='border', align_corners=True)", IMAGE, NOT_EMPTY),
    ("F.fold(F.unfold(x, (2, 3), padding=1), (5, 6), (2, 3), padding=1)", IMAGE, NOT_EMPTY),
    ("x.view(-1, 3, 4).topk(2).values, x.view(-1, 3, 4).topk(2).indices", (None, 12), NOT_EMPTY),
    ("x.view(-1, 3, 4).topk(2, dim=1).values, x.view(-1, 4, 3).topk(3).indices", (None, 12), NOT_EMPTY),
    ("D.Categorical(logits=x).entropy()", ROWS, NOT_EMPTY),
    ("D.Categorical(logits=x).log_prob(x.argmax(-1)), D.Categorical(logits=x).mode", ROWS, NOT_EMPTY),
    ("D.Categorical(x.softmax(-1)).log_prob(torch.tensor(2)), D.Categorical(logits=x).probs", VECTOR, NOT_EMPTY),
    ("D.Categorical(probs=x.relu() + 0.1).entropy()", (None,), NOT_EMPTY),
    ("D.Normal(x, 1.0).log_prob(x * 2.0), D.Normal(0.5, x.exp()).entropy()", ROWS, SIZES),
    ("D.Normal(x, x.exp()).cdf(x + 1.0), D.Normal(x, 1.0).stddev, D.Normal(x, 2.0).variance", ROWS, SIZES),
    ("D.Bernoulli(logits=x).log_prob((x > 0.0).float()), D.Bernoulli(x.sigmoid()).entropy()", ROWS, SIZES),
    ("D.Bernoulli(logits=x).probs, D.Bernoulli(logits=x).log_prob(torch.tensor(1.0))", MATRIX, NOT_EMPTY),
    ("D.Laplace(x, 1.5).log_prob(x * 2.0), D.Exponential(x.exp()).log_prob(x.abs())", ROWS, SIZES),
    ("D.Poisson(x.exp()).log_prob(x.abs().round()), D.Gamma(x.exp(), x.exp()).log_prob(x.exp())", ROWS, SIZES),
    ("D.Beta(x.exp(), x.exp() + 1.0).log_prob(x.sigmoid()), D.Beta(x.exp(), 2.0).mean", ROWS, NOT_EMPTY),
    ("D.kl_divergence(D.Normal(x, 1.0), D.Normal(x * 2.0, x.exp()))", ROWS, SIZES),
    ("D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=x * 2.0))", ROWS, NOT_EMPTY),
    ("D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(x.sigmoid() * 0.5))", ROWS, SIZES),
    ("nn.utils.rnn.pad_sequence([x, x[:1]], batch_first=True, padding_value=-1.0, padding_side='left')", ROWS, NOT_EMPTY),
    ("nn.utils.rnn.unpad_sequence(nn.utils.rnn.pad_sequence([x, x[:1]]), torch.tensor([len(x), 1]))", ROWS, NOT_EMPTY),
    ("torch.zeros_like(x).scatter(1, x.argmax(1, keepdim=True), 1.0)", ROWS, SIZES),
    ("x.cummax(0).values, x.cummin(1).values, x.logcumsumexp(0)", ROWS, SIZES),
]


def inputs(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn([n if e is None else e for e in shape], generator=generator) for n in sizes]


def model(text: str, folder: Path) -> torch.nn.Module:
    module: torch.nn.Module = load(folder, TEXT.replace("{text}", text), f"function_{abs(hash(text))}").Model().eval()
    return module


@pytest.mark.parametrize(("call", "shape", "sizes"), CASES, ids=[case[0][:40] for case in CASES])
def test_function(call: str, shape: tuple[int | None, ...], sizes: tuple[int, ...], tmp_path: Path) -> None:
    agrees(model(f"return {call}", tmp_path), inputs(shape, sizes))


def test_a_loss_of_labels_that_do_not_fit_is_infinite(tmp_path: Path) -> None:
    """CTC of more labels than steps, of equal labels that need a blank between them, and of no labels."""
    text = "return F.ctc_loss(x.log_softmax(-1), torch.tensor({labels}), (len(x),), ({count},), reduction='none')"
    for labels in ([1, 2, 3], [2, 2], [1]):
        agrees(model(text.format(labels=labels, count=len(labels)), tmp_path), inputs(ROWS, NOT_EMPTY))


@pytest.mark.parametrize("draw", ["D.Normal(x, 1.0).rsample()", "D.Categorical(logits=x).sample()"])
def test_drawing_from_a_distribution_is_refused(draw: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="would give another result") as error:
        build(model(f"return {draw}", tmp_path), sample=inputs(ROWS, SIZES))
    assert error.value.problems[0].span.line == 10


def test_log_of_gamma_far_from_zero(tmp_path: Path) -> None:
    module = model("return torch.lgamma(x), torch.digamma(x)", tmp_path)
    inf = float("inf")
    x = torch.tensor([1e-6, 0.5, 1.0, 2.0, 30.5, 1e5, 1e30, inf, -0.5, -3.5, -20.25, 0.0])
    assert_same(as_tensors(Interpreter(build(module, sample=[x])).run(x)), module(x), "far from zero")
    poles = torch.tensor([-4.0, -0.0, 0.0, -inf, float("nan")])
    for mine, theirs in ((gamma.lgamma, torch.lgamma), (gamma.digamma, torch.digamma)):
        assert torch.allclose(mine(poles), theirs(poles), equal_nan=True)
