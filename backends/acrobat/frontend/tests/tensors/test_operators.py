"""PyTorch's functions and methods of tensors as the front end has them, each against PyTorch: on matrices of fixed extents, and
on some whose number of rows varies and may be 1."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees_natively, as_tensors

MODEL = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        w = self.w
        i = torch.arange(x.size(0)) % 3
        return {call}
"""

BOTH = [
    *(
        f"torch.{name}(x * 2.0), torch.{name}(x[0, 0])"
        for name in ["atan", "arctan", "asinh", "sinc", "deg2rad", "rad2deg", "positive", "sgn"]
    ),
    *(f"torch.{name}(x.tanh()), x[0].tanh().{name}()" for name in ["asin", "acos", "arcsin", "arccos", "atanh", "arctanh"]),
    "torch.acosh(x.abs() + 1.0), (x.abs() + 1.0).arccosh(), torch.arcsinh(x * 100.0)",
    "torch.erf(x), torch.erfc(x * 4.0), torch.erf(x / 0.0), torch.logit(x.sigmoid()), (x * 0.5 + 0.5).logit(eps=0.1)",
    *(
        f"torch.{name}(x, x.flip(-1)), x.{name}(x.sin()), torch.{name}(x, x[0])"
        for name in ["atan2", "arctan2", "hypot", "fmax", "fmin"]
    ),
    *(
        f"torch.{name}(x, x.flip(-1)), torch.{name}(x, x[0])"
        for name in ["copysign", "logaddexp2", "heaviside", "xlogy", "rsub"]
    ),
    *(
        f"torch.{name}(x.relu(), x.flip(-1).relu()), torch.{name}(x > 0.0, x)"
        for name in ["logical_and", "logical_or", "logical_xor"]
    ),
    "torch.logical_not(x.relu()), (x > 0.0).logical_not(), torch.isposinf(x / 0.0), torch.isneginf(x / 0.0), torch.signbit(x)",
    "torch.atan(x / 0.0), torch.atan2(x, x * 0.0), torch.atan2(x * 0.0, x), torch.atan2(x * 0.0, -(x * 0.0))",
    "torch.atan2(x / 0.0, -x / 0.0), torch.hypot(x / 0.0, x), torch.asinh(x * 1e20), torch.acosh(x.abs() * 1e20 + 1.0)",
    "torch.acos(x * 3.0), torch.asin(x * 3.0), torch.acosh(x), torch.atanh(x * 2.0), torch.atanh(x.sign())",
    "torch.copysign(torch.ones(4), x[0] * 0.0), torch.fmax(torch.log(x), x)",
    "torch.fmin(x, torch.log(x)), torch.xlogy(0.0 * x, x)",
    "torch.nan_to_num(x / 0.0), torch.nan_to_num(torch.log(x), 1.0, 2.0, -0.1), torch.nan_to_num(-1.0 / x.relu(), neginf=-3.0)",
    "torch.special.expit(x), torch.special.log1p(x.abs()), torch.special.softmax(x, 1), torch.special.logsumexp(x, 0)",
    "torch.std_mean(x, 1), torch.var_mean(x, dim=-1, keepdim=True)",
    "x.var(False), x.std(1, False), torch.var(x, 1, correction=0)",
    "torch.aminmax(x), torch.aminmax(x, dim=0), x.aminmax(dim=-1, keepdim=True), torch.aminmax(x, dim=1).max",
    "torch.count_nonzero(x.relu()), torch.count_nonzero(x.relu(), 0), (x > 0.0).count_nonzero(dim=-1), i.count_nonzero()",
    "torch.log(x).nansum(), torch.nansum(torch.log(x), 0), torch.nanmean(torch.log(x), 1), torch.log(x).nanmean(-1, True)",
    *(
        f"torch.median(x, {d}), x.median({d}, keepdim=True), x.mode({d}), x.kthvalue(1, {d}, True), torch.kthvalue(x, 1, {d})"
        for d in (0, 1, -1, -2)
    ),
    "torch.median(torch.log(x), 1), torch.mode(torch.floor(x * 2.0), 1).values, x.kthvalue(4).values, torch.median(x)",
    "torch.quantile(x, 0.3), x.quantile(0.3, 0), x.quantile(0.3, dim=-1, keepdim=True)",
    "x.quantile(torch.tensor([0.1, 1.0]), dim=1)",
    "x.quantile(torch.tensor([0.1, 0.5]), dim=0, keepdim=True), torch.quantile(torch.log(x), 0.5, 1)",
    "tuple([x.quantile(0.4, dim=1, interpolation=how) for how in ('lower', 'higher', 'nearest', 'midpoint')])",
    "torch.renorm(x, 2, 0, 0.5), torch.renorm(x, 1, -1, 0.5), x.histc(5, -1, 1), torch.histc(x, 4)",
    "torch.isin(x, x[0]), torch.isin(i, torch.tensor([0, 2]), invert=True), torch.isin(i, 1), torch.isin(x, x[x[:, 0] > 99.0])",
    *(f"torch.cummax(x, {d}), x.cummin({d}), torch.logcumsumexp(x, {d}), torch.diff(x, dim={d})" for d in (0, 1, -1, -2)),
    "torch.cummax(torch.log(x), 1), torch.cummin(torch.log(x), 0)",
    "torch.cummax(torch.floor(x), 1), torch.logcumsumexp(x.log(), 1)",
    "torch.diff(x, n=2), torch.diff(x, prepend=x[:, :1]), x.diff(append=x[:, :2], dim=-1), torch.diff(i)",
    "torch.trapezoid(x), torch.trapz(x, dim=0)",
    "torch.trapezoid(x, torch.tensor([0.0, 1.0, 3.0, 4.0])), torch.trapezoid(x, dx=0.5)",
    "torch.trapezoid(x, x.cumsum(1), dim=-1), torch.cumulative_trapezoid(x, dim=1)",
    "torch.addmm(x[0], x, w), torch.addmm(x, x, w, beta=0.5, alpha=2.0), torch.addmm(x / 0.0, x, w, beta=0)",
    "torch.addmv(x[:, 0], x, w[0], alpha=2.0), torch.addr(x, x[:, 0], w[0])",
    "torch.baddbmm(x[None], x[None], w[None], beta=0.5)",
    "torch.vdot(w[0], x[0]), torch.inner(x, w), torch.inner(x, w[0])",
    "torch.addbmm(x, x[None], w[None]), torch.linalg.vecdot(x, x.sin())",
    "torch.tensordot(x, w, 1), torch.tensordot(x, w, ([1], [1]))",
    "torch.tensordot(w, x, dims=([0], [1])), torch.tensordot(w, w)",
    "torch.tensordot(w.view(2, 2, 4), w.view(4, 2, 2), ([2, 0], [0, 1])), torch.kron(w, w[:2, :3]), torch.kron(w[0], w[1])",
    "torch.cross(x[:, :3], x[:, 1:], dim=1), torch.linalg.cross(x[:, :3], x[:, 1:]), torch.cross(w[:3], w[1:], 0)",
    "torch.linalg.multi_dot([x, w, w]), torch.chain_matmul(x, w), torch.matrix_power(w, 3), F.pdist(torch.cat([x, w]))",
    "torch.inverse(w), torch.linalg.inv(w.view(1, 4, 4)), w[:2, :2].inverse(), torch.linalg.inv(w - 9.0 * w[:, :1])[0] * 0.0",
    "torch.linalg.solve(w, w[0]), torch.linalg.solve(w, x.t()), torch.linalg.solve(w, w.t(), left=False)",
    "torch.linalg.solve(torch.eye(4).flip(0) + 0.0 * w, w), torch.linalg.solve(torch.stack([w, w.t()]), torch.stack([w, w]))",
    "torch.det(w), w.det(), torch.linalg.det(torch.stack([w, w.flip(0)])), torch.det(0.0 * w)",
    "torch.logdet(w), torch.logdet(-w[:1, :1]), torch.logdet(w[:1, :1])",
    "torch.linalg.slogdet(w), torch.slogdet(w.flip(0)).sign, torch.linalg.slogdet(w.expand(2, 4, 4)).logabsdet",
    "torch.linalg.cholesky(x.t() @ x + torch.eye(4)), torch.linalg.cholesky(w @ w.t() + torch.eye(4), upper=True)",
    "torch.cholesky_solve(w, torch.linalg.cholesky(w @ w.t() + torch.eye(4)))",
    "torch.cholesky_inverse(torch.linalg.cholesky(x.t() @ x + torch.eye(4)))",
    "torch.linalg.solve_triangular(w, w.t(), upper=True), torch.linalg.solve_triangular(w, x.t(), upper=False)",
    "torch.linalg.solve_triangular(w, w, upper=True, left=False)",
    "torch.linalg.solve_triangular(w, w, upper=False, unitriangular=True)",
    "torch.matrix_exp(w), torch.linalg.matrix_exp(x.t() @ x), torch.matrix_exp(w * 0.0)",
    "torch.matrix_exp(torch.stack([w, w * 5.0]))",
    "torch.cov(x.t()[:, :1].expand(4, 2)), torch.cov(w), torch.cov(w[0]), torch.cov(w, correction=0), torch.corrcoef(w)",
    "torch.block_diag(w, w[:2]), torch.block_diag(w[0], w[:2, :1], w[1, 1])",
    "(x * 3.0).long().gather(0, torch.zeros(1, 4).long()), (x * 3.0).long().gather(0, x.argmax(0).unsqueeze(0)).squeeze(0)",
    "x.masked_select(x > 0.0), x[:, 0].masked_select(x[:, 1] > 0.0)",
    "torch.masked_select(x, x[0] > 0.0), torch.argwhere(x > 0.0), x.masked_select(x[:, :1] > 0.0)",
    "torch.where(x > 0.0, 1, 0), torch.where(x > 0.0, 1, 0.5), torch.where(x[:, 0] > 0.0, x.size(0), -1), torch.where(i > 0)",
    "torch.add(x, w[0], alpha=0.5), x.sub(x, alpha=2), torch.add(i, i, alpha=3), torch.sub(x, w[0], alpha=0.5)",
    "x.narrow(1, -3, 2), w.narrow(0, -4, 1), x.narrow(0, x.size(0) - 1, 1), x.narrow(0, x.size(0) // 2, x.size(0) // 2)",
    "w.narrow(0, x.size(0) // 2, 1), w.narrow(1, 0, x.size(0) // 3), i.narrow(0, 0, x.size(0)), w.select(1, x.size(0) // 2)",
    "w.tile(2, 1), w[0].tile(3), torch.tile(x, dims=(1, 2)), x[0].tile(x.size(0), 1)",
    "x.masked_scatter(x > 0.0, -x), torch.masked_scatter(x, (x[:, :1] > 0.0).expand_as(x), x + 1.0)",
    "torch.take(x, torch.tensor([0, 3, -1])), x.take(torch.tensor([[0, 1], [2, 3]])), torch.take_along_dim(x, x.argsort(1), 1)",
    "x.put(torch.tensor([0, -1]), x[0, :2] + 9.0), x.put(torch.tensor([1, 1]), torch.tensor([9.0, 8.0]), accumulate=True)",
    "torch.take_along_dim(x, x.argmax(1, keepdim=True), dim=1), torch.take_along_dim(x, torch.tensor([1, 2]))",
    "x.index_copy(0, torch.tensor([0]), x[:1] * 5.0), torch.index_copy(x, 1, torch.tensor([3, 0]), x[:, :2] * 5.0)",
    "x.index_put((torch.tensor([0]),), torch.ones(1, 4))",
    "x.index_put((torch.tensor([0, 0]),), torch.ones(2, 4), accumulate=True)",
    "x.index_put((torch.tensor([0, 0]), torch.tensor([1, 2])), torch.tensor([5.0, 6.0]))",
    "x.select_scatter(x[:, 0] * 2.0, 1, 2)",
    "x.scatter(1, x.argmax(1, True), 9.0), F.one_hot(x.argmax(1), 4).float(), F.one_hot(x.argmax(), 99).float()",
    "x.unfold(1, 2, 1), torch.cat([x, x]).unfold(0, 2, 1), w.unfold(-2, 2, 2), F.unfold(w.view(1, 1, 4, 4), 2, stride=2)",
    "F.unfold(w.view(1, 4, 2, 2), (1, 2), padding=1), w.tensor_split(3)",
    "w.tensor_split([1, 3]), x.tensor_split((1, 2), dim=-1)",
    "torch.hsplit(x, 2), torch.vsplit(w, 2), w.split_with_sizes([1, 3]), x.split([1, x.size(0) - 1]), x.unbind(-1)",
    "torch.dstack([x, x]), torch.column_stack([x, x[:, 0]]), torch.row_stack([x, w]), torch.msort(x), x.adjoint(), w.roll(1)",
    "torch.atleast_1d(x[0, 0]), torch.atleast_2d(x[0]), torch.atleast_3d(x)",
    "torch.broadcast_to(x[0], (3, 4)), x.broadcast_to(2, -1, 4)",
    "torch.rot90(w), torch.rot90(w, 2), w.rot90(3, [0, 1]), torch.rot90(x, -1, (0, 1)), torch.rot90(x, 4)",
    "x[None].movedim((0, 1), (1, 2)), torch.moveaxis(x[None], 0, -1), x.nelement(), x.ndimension()",
    "torch.meshgrid(x[:, 0], w[1], indexing='ij'), torch.meshgrid(torch.arange(2), torch.arange(3), indexing='xy')",
    "torch.cartesian_prod(x[:, 0], w[1, :2]), torch.combinations(torch.cat([x[:, 0], w[0]]))",
    "torch.diag(w), torch.diag(w, 1), w.diag(-2), torch.diag(w[0])",
    "torch.diag(w[0], 1), torch.diag(w[0], -2), torch.diag(w[0] / 0.0)",
    "torch.diagonal(w, 1), torch.diagonal(w.view(2, 2, 2, 2), 0, 1, 2)",
    "w.view(2, 2, 4).diagonal(dim1=-2, dim2=-1), torch.trace(w)",
    "torch.diag_embed(x), torch.diag_embed(w, 1), torch.diagflat(w[:2, :2]), F.channel_shuffle(w.view(1, 4, 2, 2), 2)",
    "F.pixel_shuffle(w.view(1, 4, 2, 2), 2), F.pixel_unshuffle(w.view(1, 1, 4, 4), 2)",
    "F.local_response_norm(w.view(1, 4, 2, 2), 3)",
    "F.instance_norm(torch.cat([x, w]).t()[None]), F.batch_norm(x, w[0], w[1].abs(), w[2], w[3])",
    "F.dropout1d(x, 0.5, False), F.alpha_dropout(x)",
    "F.conv1d(x.t(), w.view(4, 4, 1), padding='same'), F.conv1d(x.t(), w[:, :3].reshape(4, 1, 3), padding=1, groups=4)",
    "F.conv_transpose1d(x.t(), w.view(4, 2, 2), w[0, :2], stride=2, padding=1, output_padding=1)",
    "F.cross_entropy(x, x.argmin(1), w[0].abs()), F.cross_entropy(x, x.sin().softmax(-1), label_smoothing=0.1)",
    "F.nll_loss(x, x.argmin(1), w[0].abs(), reduction='none')",
    "F.cross_entropy(x[0], x[0].argmin(), w[0].abs(), reduction='sum')",
    "F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction='batchmean')",
    "F.mse_loss(x, x.sin(), False), F.l1_loss(x, x.sin(), reduce=False)",
    "F.binary_cross_entropy_with_logits(x, x.sigmoid(), w[0].abs(), pos_weight=w[1].abs()), F.smooth_l1_loss(x[0, 0], x[0, 1])",
    "F.pad(x.t(), (1, 1), mode='replicate'), F.pad(w[None], (2, 1, 0, 3), 'reflect'), F.pad(x[None], (1, 2), mode='circular')",
    "torch.tril_indices(3, 3), x[:, torch.triu_indices(4, 4, offset=1)[1]], torch.is_tensor(x), torch.fix(x * 3.0)",
    "x.argmax(0), x.argmin(0, keepdim=True), x.max(0), x.min(dim=0).indices, x[x.argmax(0)], torch.log(x).argmax(0)",
    "x[:, :1].argmax(0), x[:1].argmax(-1), x.argmax(), x[:, :1].max(dim=0, keepdim=True)",
    "(x > 0.0).sum(), (x > 0.0).sum(0), (x[:, 0] > 0.0).sum()",
    "(x > 0.0).sum(-1, keepdim=True), torch.isnan(x[0, 0]), torch.tensor(3)",
    "i & 1, i | 2, i ^ 1, i << 1, i >> 1, torch.bitwise_and(i, 1)",
    "torch.bitwise_or(i, i), torch.sign(i - 1), i.prod(), (i + 1).prod(0)",
]
"""Expressions of `x` of shape (n, 4), a weight `w` of shape (4, 4), and ints `i` below 3."""


def alike(mine: Any, theirs: Any, where: str) -> None:
    """That two results have the same structure, dtypes and numbers, NaN included."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(mine, torch.Tensor), where
        assert mine.shape == theirs.shape, f"{where}: shape {tuple(mine.shape)}, eager {tuple(theirs.shape)}"
        kinds = [(t.is_floating_point(), t.dtype == torch.bool) for t in (mine, theirs)]
        assert kinds[0] == kinds[1], f"{where}: {mine.dtype}, eager {theirs.dtype}"
        assert torch.allclose(mine.double(), theirs.double(), rtol=1e-4, atol=1e-5, equal_nan=True), (
            f"{where}: {mine}, eager {theirs}"
        )
    elif isinstance(theirs, (tuple, list)):
        assert len(mine) == len(theirs), where
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            alike(a, b, f"{where}[{k}]")
    else:
        assert mine == theirs, where


def model(call: str, folder: Path) -> Any:
    return load(folder, MODEL.replace("{call}", call), f"operators_{zlib.crc32(call.encode())}").Model().eval()


def matrices(counts: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, 4, generator=generator) for n in counts]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("counts", [(3, 3), (3, 1, 6)], ids=["fixed", "varying"])
@pytest.mark.parametrize(
    "call", BOTH, ids=[f"{i}-{call.partition('(')[0].removeprefix('torch.')}" for i, call in enumerate(BOTH)]
)
def test_operator(call: str, counts: tuple[int, ...], tmp_path: Path) -> None:
    module, xs = model(call, tmp_path), matrices(counts)
    program = build(module, sample=xs)
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        for x in xs:
            alike(as_tensors(interpreter.run(x.clone())), module(x), f"{len(x)} rows")


NATIVE = "(x[:, 0] > 0.0).sum(), x.argmax(0), torch.isnan(x[0, 0]), [torch.tensor(4), x.argmax()], i ^ 1, x.atan()"


def test_tensors_of_one_number_are_results_of_compiled_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(model(NATIVE, tmp_path), matrices((3, 1, 6)), codegen, tmp_path)


REFUSED = {
    "torch.kl_div(x, x)": "`torch.kl_div` is not an operation of the language",
    "torch.quantile(x, 0.5, keepdim=True)": "`quantile` of all elements with `keepdim`",
    "torch.diff(x > 0.0)": "`diff` of a mask",
    "torch.inverse(x @ x.t())": "`inverse` of a matrix whose extents vary",
    "torch.det(w[:2])": "`det` of a matrix that is not square",
    "torch.corrcoef(x[0])": "`corrcoef` of a vector",
    "torch.cummax(i.view(1, -1), 1)": "`cummax` or `cummin` of ints in several",
    "x.vsplit(2)": "`vsplit` along an extent that varies",
    "torch.where(x > 0.0, True, False)": "`where` makes no tensors of bools",
    "torch.diagonal(x.unsqueeze(0), 0, 1, 2)": "the diagonals of several matrices whose extents vary",
    "F.cross_entropy(x, x.argmin(1), None, None, -100, None, 'median')": "a `reduction` but mean, sum and none",
    "torch.cartesian_prod(x[0], x[0], x[0])": "`cartesian_prod` but of two vectors",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused_by_name(call: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=REFUSED[call]):
        build(model(call, tmp_path), sample=matrices((3, 1, 6)))
