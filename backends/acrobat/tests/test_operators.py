"""Common PyTorch operations: each expression is run by the interpreter and compared with eager PyTorch, at several lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(4, 4))
        self.q = nn.Parameter(torch.randn(4))

    def forward(self, s):
        x, y, v, ids, n, a, b, m = s["x"], s["y"], s["v"], s["ids"], s["n"], s["a"], s["b"], s["m"]
        return {expression}
"""

EXPRESSIONS = [
    "a > 0",
    "(a > 0).float()",
    "(a > 0) * a",
    "torch.where(a > 0, a, -a)",
    "torch.where(a > b, a, b)",
    "torch.where(x > 0, x, 0.0)",
    "torch.where(a > 0, 1.0, 0.0)",
    "a.masked_fill(a > 0, 0.0)",
    'a.masked_fill(a > 0, float("-inf"))',
    "x.masked_fill(x > 0, 1.0)",
    "(a > 0).sum().item()",
    "(a == b).float()",
    "(a != b).float()",
    "(a >= 0.5).float().mean()",
    "torch.tril(self.w)",
    "torch.triu(self.w, 1)",
    "torch.tril(torch.ones(4, 4))",
    "torch.ones(3, 3).triu(1)",
    "torch.eye(3)",
    "torch.eye(len(ids))",
    "torch.arange(4).float()",
    "torch.arange(4) * 1.0",
    "torch.arange(len(ids))",
    "torch.arange(0, 3).float()",
    "torch.linspace(0, 1, 5)",
    "torch.full_like(a, 2.0)",
    "torch.full((2, 3), 1.5)",
    "torch.empty_like(a).zero_()",
    "torch.cumsum(a, 0)",
    "torch.cumsum(a, dim=-1)",
    "a.cumsum(1)",
    "x.cumsum(0)",
    "v.cumsum(0)",
    "torch.cumprod(a, 1)",
    "torch.sort(b)[0]",
    "torch.sort(b, descending=True).values",
    "b.sort()[1]",
    "torch.argsort(b)",
    "b.argsort(descending=True)",
    "torch.topk(b, 2)[0]",
    "torch.topk(b, 2).indices",
    "torch.topk(a, 2, dim=-1)[0]",
    "x.topk(2, largest=False)[0]",
    "b.abs() ** a",
    "torch.pow(a, torch.round(b * 3.0))",
    "x ** n",
    "getattr(self, 'w', None) if hasattr(self, 'v') else getattr(self, 'v', a)",
    "getattr(self, '{}'.format('q'))",
    "torch.topk(v, 1)[0]",
    "F.one_hot(torch.tensor(n), 4).float()",
    "F.one_hot(torch.tensor(ids), 4).float()",
    "F.one_hot(torch.tensor(n)), F.one_hot(torch.tensor(ids), len(ids) + 4).float() @ torch.ones(len(ids) + 4)",
    "torch.roll(a, 1, 0)",
    "torch.roll(b, -1)",
    "torch.roll(x, 1, 0)",
    "torch.flip(a, [0])",
    "a.flip(1)",
    "x.flip(0)",
    "torch.fliplr(a)",
    "a.repeat(2, 1)",
    "b.repeat(3)",
    "b.repeat(3, 1)",
    "b.expand(3, 4)",
    "b.expand(3, -1)",
    "a.unsqueeze(0).expand(2, 3, 4)",
    "b.repeat_interleave(2)",
    "a.repeat_interleave(2, dim=0)",
    "torch.index_select(a, 0, torch.tensor([n, 0]))",
    "a[n]",
    "a[:, n]",
    "b[n]",
    "b[n].item()",
    "a[n, 1]",
    "a[0, n]",
    "a[1, ids[0]]",
    "a[ids[0] % 3]",
    "x[0]",
    "x[-1]",
    "x[ids[0] % 1]",
    "a[[0, 2]]",
    "a[torch.tensor([0, 2])]",
    "x[torch.tensor([0])]",
    "self.w[torch.tensor(ids)]",
    'torch.einsum("ij,j->i", a, b)',
    'torch.einsum("ij,kj->ik", a, a)',
    'torch.einsum("i,j->ij", b, b)',
    'torch.einsum("bij,ij->b", m, a)',
    'torch.einsum("nd,d->n", x, b)',
    'torch.einsum("nd,md->nm", x, y)',
    'torch.einsum("ij->ji", a)',
    'torch.einsum("bij,bkj->bik", m, m)',
    "a.clamp(0, 1)",
    "a.clamp(min=0)",
    "a.clamp_min(0.1)",
    "torch.clamp(x, max=0.5)",
    "a ** 2",
    "a ** 3",
    "a.abs() ** 0.5",
    "a ** -1",
    "torch.pow(a, 2)",
    "a.pow(3)",
    "2 ** a",
    "torch.pow(2.0, a)",
    "torch.sign(a)",
    "a.sign()",
    "torch.floor(a)",
    "a.ceil()",
    "a.round()",
    "a.trunc()",
    "torch.frac(a)",
    "a // 1",
    "a % 1",
    "torch.fmod(a, 0.5)",
    "torch.remainder(a, 0.5)",
    "torch.sin(a)",
    "a.cos()",
    "torch.tan(a)",
    "torch.log1p(a.abs())",
    "torch.log2(a.abs())",
    "torch.log10(a.abs())",
    "torch.expm1(a)",
    "torch.exp2(a)",
    "torch.erf(a)",
    "torch.logsumexp(a, 1)",
    "torch.logsumexp(a, dim=0)",
    "torch.logsumexp(x, 0)",
    "a.logsumexp(-1, keepdim=True)",
    "torch.logsumexp(v, 0)",
    "torch.logaddexp(a, b)",
    "F.cross_entropy(b.unsqueeze(0), torch.tensor([n]))",
    "F.cross_entropy(b, torch.tensor(n))",
    "F.cross_entropy(x, torch.tensor(ids))",
    "F.nll_loss(F.log_softmax(x, -1), torch.tensor(ids))",
    'F.cross_entropy(x, torch.tensor(ids), reduction="sum")',
    "F.mse_loss(a, a + b)",
    'F.mse_loss(a, a + b, reduction="sum")',
    "F.l1_loss(a, a * 2)",
    "F.smooth_l1_loss(a, a * 2)",
    "F.binary_cross_entropy_with_logits(a, torch.sigmoid(a))",
    'F.kl_div(F.log_softmax(b, -1), F.softmax(b + 1, -1), reduction="sum")',
    "F.cosine_similarity(a, a + b)",
    "F.cosine_similarity(x, b.unsqueeze(0), dim=-1)",
    "F.cosine_similarity(b, self.q, dim=0)",
    "F.pairwise_distance(a, a + b)",
    "torch.cdist(a, a)",
    'torch.cdist(a, a * 2, compute_mode="donot_use_mm_for_euclid_dist")',
    "torch.dist(a, a + b)",
    "torch.norm(a)",
    "torch.norm(a, dim=1)",
    "a.norm()",
    "a.norm(dim=-1, keepdim=True)",
    "a.norm(p=1)",
    "F.normalize(a, dim=-1)",
    "F.normalize(x, dim=-1)",
    "torch.outer(b, self.q)",
    "torch.dot(b, self.q)",
    "torch.var(a, 1)",
    "a.std(dim=-1)",
    "a.std()",
    "a.var(dim=0, unbiased=False)",
    "a.prod()",
    "a.prod(1)",
    "torch.amin(a, 1)",
    "a.min()",
    "a.min(dim=1)[0]",
    "a.min(dim=1).indices",
    "a.max(dim=1).indices",
    "a.argmin()",
    "a.argmin(dim=1)",
    "a.argmax(dim=-1)",
    "a.argmax().item()",
    "torch.softmax(-a, 0)",
    "F.softmin(a, dim=0)",
    "F.glu(a)",
    "F.hardsigmoid(a)",
    "F.hardswish(a)",
    "F.selu(a)",
    "F.celu(a)",
    "F.tanhshrink(a)",
    "F.softshrink(a)",
    "F.threshold(a, 0.1, 0.0)",
    "F.relu6(a)",
    'F.gelu(a, approximate="tanh")',
    "F.leaky_relu(x, 0.1)",
    "F.silu(x)",
    "F.layer_norm(a, (4,))",
    "F.layer_norm(x, (4,), self.q, self.q)",
    "F.dropout(a, 0.5, self.training)",
    "F.pad(a, (1, 1))",
    "F.pad(a, (0, 0, 1, 0))",
    "F.pad(x, (0, 0, 1, 1))",
    "torch.cat([a, a], 0)",
    "torch.cat([x, y])",
    "torch.cat([x, b.unsqueeze(0)])",
    "torch.hstack([b, b])",
    "torch.vstack([b, b])",
    "torch.concat([a, a], dim=1)",
    "torch.stack([b, b], -1)",
    "torch.stack([r for r in a])",
    "torch.stack([x[i] for i in range(len(ids))])",
    "torch.cat([r for r in x])",
    "torch.tensor([1.0, 2.0])",
    "torch.tensor([[1.0, 2.0], [3.0, 4.0]])",
    "torch.tensor(ids).float()",
    "torch.tensor(ids) + 1",
    "(torch.tensor(ids) == 1).float() @ x",
    "torch.zeros(4, 4).index_add(0, torch.tensor(ids), x)",
    "torch.zeros(4).index_add(0, torch.tensor(ids), v)",
    "torch.diag(self.w)",
    "torch.diagonal(self.w)",
    "torch.diag(b)",
    "torch.trace(self.w)",
    "torch.lerp(a, b, 0.5)",
    "torch.addcmul(a, a, a)",
    "torch.where((a > 0) & (a < 1), a, torch.zeros_like(a))",
    "a.view(-1)",
    "a.view(2, -1)",
    "a.flatten()",
    "a.reshape(-1, 2)",
    "a.ravel()",
    "a.t()",
    "a.mT",
    "a.movedim(0, 1)",
    "m.permute(1, 0, 2)",
    "m.swapaxes(0, 1)",
    "a.squeeze()",
    "a.numel()",
    "a.shape[0]",
    "a.unbind(0)[1]",
    "a.split([1, 2], 0)[1]",
    "a.chunk(2, 1)[0]",
    "torch.nan_to_num(a)",
    "a.type_as(b)",
    "a.type_as(a > 0).float()",
    "((a > 0) + (a > 1)).float()",
    "a.to(torch.float32)",
    "a.to(b.dtype)",
    "a.cpu()",
    "b.tolist()",
    "torch.zeros(n + 1, 4)",
    "torch.ones(n + 1)",
    "F.embedding(torch.tensor(ids), self.w)",
    "F.embedding(torch.tensor([n]), self.w)",
    "self.w[ids]",
    "x + v.unsqueeze(-1)",
    "x * (v > 0).unsqueeze(-1)",
    "x.masked_fill((v > 0).unsqueeze(-1), 0.0)",
    "torch.where((v > 0).unsqueeze(-1), x, torch.zeros_like(x))",
    "(v > 0).float().sum()",
    "torch.triu(torch.ones(len(ids), len(ids)), 1)",
    "torch.tril(torch.ones(len(ids), len(ids)))",
    '(x @ x.t()).masked_fill(torch.triu(torch.ones(len(ids), len(ids)), 1) == 1, float("-inf")).softmax(-1) @ x',
    '(x @ x.t()).masked_fill(torch.ones(x.size(0), x.size(0)).triu(1).bool(), float("-inf")).softmax(-1) @ x',
    "F.scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(len(ids), len(ids)))",
    "torch.isnan(a).float()",
    "torch.isfinite(a).all().item()",
    "(x > 0).sum().item()",
    "(a > 0).any().item()",
    "(x > 0).all(dim=1).float()",
    "torch.where(torch.isnan(x / (x - x)), torch.zeros_like(x), x)",
    "(torch.tensor(ids) == 1).float().sum()",
    "a[:, n % 2]",
    "x * torch.tensor([1.0, 2.0, 3.0, 4.0])",
    "torch.stack([r for r in x]).sum(0)",
    "x if bool((x > 100).any()) else x * 2",
    "torch.where(b.sum() > 0, a, -a)",
    "torch.relu(torch.stack([r for r in x])).mean(0)",
    "x.sum(0)",
    "torch.tensor(ids).type_as(x)",
    "torch.arange(len(ids)).to(x)",
    "a.argmax(1).to(b.dtype)",
    "a.argmax(1).float()",
    "self.w[a.argmax(1)]",
    "b.expand_as(x)",
    "v.unsqueeze(-1).expand_as(x)",
    "1.0 / torch.tensor([-0.0, 1.0]).expand_as(a[:, :2])",
    "a.masked_fill((b > 0).expand_as(a), 7.0)",
    "b.scatter(0, torch.tensor([0, 2]), 7)",
    "b.scatter(0, torch.tensor([0, 2]), n)",
    "b.scatter(0, torch.tensor([0, 2]), value=n * 0.5)",
    "b.scatter(0, torch.tensor([1, 0, 1, 1]), b)",
    "torch.zeros(5).scatter(0, torch.arange(len(ids)), v)",
    "F.cross_entropy(a, a.argmax(1))",
    "1.0 / (a * 0.0).abs()",
    "torch.logsumexp(torch.log(x * 0.0), 1)",
    "torch.logsumexp(-torch.log(a * 0.0), 0)",
    "torch.logsumexp(torch.log(torch.relu(v)), 0)",
    "torch.logsumexp(torch.log(torch.relu(a)), 0, keepdim=True)",
    "F.max_pool2d(torch.log(m * 0.0), 2, padding=1)",
    "F.max_pool2d(torch.where(m > 0, m, -math.inf), 2, padding=1)",
    "F.scaled_dot_product_attention(x, x, x, dropout_p=0.5 if self.training else 0.0)",
    "torch.topk(a, 2, dim=0)[0], torch.topk(a, 2, dim=0)[1]",
    "x.topk(1, dim=0)[0]",
    "a.topk(2, 0, largest=False)[0]",
    "torch.sort(a, dim=1)[0], a.sort(descending=True)[1]",
    "a.sort(0)[0], a.sort(dim=0)[1]",
    "x.sort(dim=0)[0]",
    "x.sort(1)[0]",
    "m.sort()[0]",
    "a.argsort(dim=1)",
    "torch.roll(b, n)",
    "torch.roll(x, n, 0)",
    "x.roll(-n, dims=1)",
    "torch.roll(a, (1, 2), (0, 1))",
    "b.masked_fill(b > 0, v[0].item())",
    "x.masked_fill(x > 0, n)",
    "torch.clamp(b, min=self.q)",
    "x.clamp(self.q - 1, self.q + 1)",
    "torch.linalg.norm(b), torch.linalg.norm(a), torch.linalg.norm(b, 1)",
    "torch.linalg.norm(x, dim=1, keepdim=True)",
    "torch.linalg.vector_norm(x, ord=1, dim=0)",
    "b.norm(p=3)",
    "F.normalize(x, p=3, dim=1)",
    "torch.logsumexp(x, dim=(0, 1))",
    "torch.logsumexp(a, dim=(0, 1), keepdim=True)",
    "torch.einsum('...d,d->...', x, b)",
    "torch.einsum('...ij,jk->...ik', m, self.w)",
    "torch.einsum('...i,...i', a, a)",
    "torch.einsum('bij,...j->bi', m, b)",
    "torch.einsum('ii->i', self.w)",
    "torch.einsum('ii', self.w)",
    "torch.einsum('ii,i->i', self.w, b)",
    "torch.einsum('i,i->', b, b * 2), torch.einsum('i,i', v, v), torch.einsum('i,i,i->', b, b, b), torch.einsum('i,j->', b, b)",
    "F.cross_entropy(x, torch.tensor(ids), label_smoothing=0.1)",
    "F.cross_entropy(x, torch.tensor(ids), reduction='none', label_smoothing=0.2)",
    "F.cross_entropy(b, torch.tensor(n), label_smoothing=0.1)",
    "nn.CrossEntropyLoss(label_smoothing=0.1)(x, torch.tensor(ids))",
    "F.huber_loss(x, x * 3, delta=0.5, reduction='sum')",
    "b.median(), x.median(), torch.nan_to_num((x * math.nan).median(), 3.0)",
    "torch.tile(b, (2,))",
    "m.unflatten(2, (2, 2)), x.unflatten(-1, (2, 2))",
    "math.prod(ids), math.prod(x[:, 0].tolist()), math.gcd(n, 6), math.gcd(-n, 4)",
]
REFUSED = [
    ("a.half()", "tensors are float32 here, not b?float16"),
    ("a.bfloat16()", "tensors are float32 here, not b?float16"),
    ("a.to(torch.float16)", "tensors are float32 here, not float16"),
    ("a.double()", "tensors are float32 here, not float64"),
    ("torch.zeros(4, dtype=torch.float16)", "tensors are float32 here, not float16"),
    ("F.one_hot(torch.tensor(n), 0)", "a number of classes above 0"),
    ("F.one_hot(b, 4)", "takes a tensor of ints"),
    ("torch.einsum('iij->j', m[:, :2])", "a letter each"),
    ("F.cross_entropy(x, torch.tensor(ids), label_smoothing=0.1, ignore_index=0)", "label_smoothing"),
    ("torch.linalg.norm(a, 1)", "`torch.linalg.norm` of a matrix with an `ord`"),
    ("a.norm(p=0)", "a norm but those of positive numbers and infinity"),
    ("F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)", "with dropout"),
    ("F.scaled_dot_product_attention(x, x, x, torch.eye(4), is_causal=True)", "`is_causal` and a mask"),
    ("a.expand_as(b)", "`expand_as` makes extents of 1 wider"),
    ("x.expand_as(x[:, :1])", "`expand_as` makes extents of 1 wider"),
    ("a.expand(4)", "fewer dimensions"),
    ("a[b]", "a tensor of floats is no index"),
    ("ids[b[0]]", "a tensor of floats is no index"),
]


def instance(length: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(length)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    ids = torch.randint(0, 4, (length,), generator=generator)
    n = int(torch.randint(0, 3, (), generator=generator))
    fixed = {"n": n, "a": numbers(3, 4), "b": numbers(4), "m": numbers(2, 3, 4)}
    return {"x": numbers(length, 4), "y": numbers(length + 1, 4), "v": numbers(length), "ids": ids.tolist(), **fixed}


LENGTHS = (1, 2, 5)


def compiled(expression: str, tmp_path: Path) -> tuple[Any, Interpreter]:
    module = load(tmp_path, HEAD.replace("{expression}", expression)).Model().eval()
    program = build(module, sample=[instance(length) for length in LENGTHS])
    verify(program)
    return module, Interpreter(program)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str, tmp_path: Path) -> None:
    module, interpreter = compiled(expression, tmp_path)
    with torch.no_grad():
        for length in LENGTHS:
            assert_same(as_tensors(interpreter.run(instance(length))), module(instance(length)), expression)


@pytest.mark.parametrize(("expression", "message"), REFUSED)
def test_refused(expression: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=message):
        compiled(expression, tmp_path)


@pytest.mark.parametrize(
    "expression", ["torch.stack([r for r in x]).sum(0)", "torch.tanh(torch.stack([r for r in x])).mean(0)"]
)
def test_a_stack_of_nothing_is_an_error_of_the_instance(expression: str, tmp_path: Path) -> None:
    """As in PyTorch, the stack of an empty list is an error, but the sum over a tensor without rows is zero."""
    _, interpreter = compiled(expression, tmp_path)
    empty = instance(1) | {"x": torch.zeros(0, 4)}
    with pytest.raises(InstanceError):
        interpreter.run(empty)
    _, interpreter = compiled("x.sum(0)", tmp_path)
    assert_same(as_tensors(interpreter.run(empty)), torch.zeros(4), "x.sum(0)")


CLASSES = ["F.cross_entropy(b, torch.tensor(n))", "F.cross_entropy(x, torch.tensor(ids))", "F.nll_loss(x, torch.tensor(ids))"]


@pytest.mark.parametrize("expression", CLASSES)
def test_a_negative_class_is_an_error_of_the_instance(expression: str, tmp_path: Path) -> None:
    """PyTorch raises too, but for -100, which it leaves out of the mean."""
    _, interpreter = compiled(expression, tmp_path)
    for wrong in (-1, -100):
        with pytest.raises(InstanceError, match=f"class {wrong}: a loss takes classes from 0 on"):
            interpreter.run(instance(2) | {"n": wrong, "ids": [0, wrong]})
