"""The library against PyTorch, on tensors of fixed and of varying extents: each of its classes as the compiler reads it, and
some of its functions as plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, weight_norm

from backends.acrobat import compile, library
from backends.acrobat.errors import CompileError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tensors.forwards import as_one_call
from backends.acrobat.frontend.tensors.torch_functions import OF_OTHER_MODULES
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same

CALLS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return {call}
"""

FIXED, SEQUENCE, BATCH_OF_ONE = (5,), (None, 5), (1, None, 5)
CASES: list[tuple[Callable[[], nn.Module], str, tuple[int | None, ...]]] = [
    (lambda: nn.RNNCell(5, 3), "self.inner(x)", FIXED),
    (lambda: nn.RNNCell(5, 3, nonlinearity="relu", bias=False), "self.inner(x, self.inner(x))", FIXED),
    (lambda: nn.CrossEntropyLoss(), "self.inner(x, torch.tensor(1))", FIXED),
    (lambda: nn.NLLLoss(reduction="sum"), "self.inner(x, torch.tensor(1))", FIXED),
    (lambda: nn.BCELoss(), "self.inner(x.sigmoid(), x.cos().abs())", FIXED),
    (lambda: nn.BCEWithLogitsLoss(reduction="none"), "self.inner(x, x.sigmoid())", FIXED),
    (lambda: nn.MSELoss(), "self.inner(x, x.sin())", FIXED),
    (lambda: nn.L1Loss(reduction="sum"), "self.inner(x, x.sin())", FIXED),
    (lambda: nn.SmoothL1Loss(beta=0.5), "self.inner(x, x.sin())", FIXED),
    (lambda: nn.KLDivLoss(reduction="sum"), "self.inner(x, x.sigmoid())", FIXED),
    (lambda: nn.Sequential(nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.GELU()), "self.inner(x)", SEQUENCE),
    (lambda: nn.Sequential(nn.GELU("tanh"), nn.Softmax(-1), nn.LogSoftmax(dim=-1)), "self.inner(x)", SEQUENCE),
    (
        lambda: nn.Sequential(nn.Linear(5, 5), nn.SiLU(inplace=True), nn.LayerNorm(5), nn.ELU(2.0, True)),
        "self.inner(x)",
        SEQUENCE,
    ),
    (lambda: nn.ZeroPad1d(2), "self.inner(x)", SEQUENCE),
    (lambda: nn.ConstantPad3d(1, 0.5), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.ZeroPad3d((1, 0, 2, 1, 0, 1)), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.GRUCell(5, 3), "self.inner(x)", FIXED),
    (lambda: nn.GRUCell(5, 3), "self.inner(x, self.inner(x))", SEQUENCE),
    (lambda: nn.LSTMCell(5, 3), "self.inner(x, self.inner(x))", FIXED),
    (lambda: nn.LSTMCell(5, 3, bias=False), "self.inner(x)", SEQUENCE),
    (lambda: nn.RNN(5, 3, num_layers=2, bidirectional=True), "self.inner(x)", SEQUENCE),
    (lambda: nn.RNN(5, 3, nonlinearity="relu", batch_first=True), "self.inner(x)", BATCH_OF_ONE),
    (lambda: nn.GRU(5, 3, num_layers=2), "self.inner(x)", SEQUENCE),
    (lambda: nn.GRU(5, 3, bidirectional=True, bias=False), "self.inner(x.transpose(0, 1))", BATCH_OF_ONE),
    (lambda: nn.LSTM(5, 3, num_layers=2, bidirectional=True), "self.inner(x)", SEQUENCE),
    (lambda: nn.LSTM(5, 3, batch_first=True), "self.inner(x, self.inner(x)[1])", BATCH_OF_ONE),
    (lambda: nn.LSTM(5, 3), "self.inner(x)", (4, 5)),
    (lambda: nn.MultiheadAttention(4, 2), "self.inner(x, x, x)", (None, 4)),
    (lambda: nn.MultiheadAttention(4, 2, batch_first=True, bias=False), "self.inner(x, x, x)", (1, None, 4)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 7), "self.inner(x)", (None, 4)),
    (
        lambda: nn.TransformerEncoderLayer(4, 2, 7, norm_first=True, activation="gelu", batch_first=True),
        "self.inner(x)",
        (1, None, 4),
    ),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 7), 2, nn.LayerNorm(4)), "self.inner(x)", (None, 4)),
    (lambda: nn.Conv1d(5, 3, 2), "self.inner(x)", (5, 6)),
    (lambda: nn.Conv1d(5, 3, 3, stride=2, padding=2, dilation=2, bias=False), "self.inner(x)", (1, 5, None)),
    (lambda: nn.BatchNorm1d(5), "self.inner(x)", SEQUENCE),
    (lambda: nn.BatchNorm2d(2), "self.inner(x)", (1, 2, 3, 3)),
    (lambda: nn.BatchNorm1d(5, affine=False), "self.inner(x)", (1, 5, None)),
    (lambda: nn.Conv1d(5, 3, 2), "nn.functional.conv1d(x, self.inner.weight, self.inner.bias, padding=1)", (5, None)),
    (lambda: nn.Linear(5, 3), "nn.functional.conv1d(x.view(1, 1, -1), self.inner(x).view(1, 1, -1), stride=(2,))", FIXED),
    (lambda: nn.RMSNorm(5), "self.inner(x)", SEQUENCE),
    (lambda: nn.RMSNorm(5), "nn.functional.rms_norm(x, x.shape[-1:], self.inner.weight, eps=0.5)", SEQUENCE),
    (lambda: nn.Bilinear(5, 5, 3), "self.inner(x, x * 2.0)", FIXED),
    (lambda: nn.Bilinear(5, 5, 3, bias=False), "self.inner(x, x)", SEQUENCE),
    (lambda: nn.EmbeddingBag(6, 4, mode="sum"), "self.inner(torch.tensor([[1, 3, 5]])) + x[:4]", FIXED),
    (lambda: nn.EmbeddingBag(6, 4, mode="mean"), "self.inner(torch.tensor([[i for i in range(3)]])) + x[:4]", FIXED),
    (lambda: nn.EmbeddingBag(6, 4, mode="max"), "self.inner(torch.tensor([[i + 2 for i in range(3)]])) + x[:4]", FIXED),
    (lambda: nn.SiLU(), "self.inner(x)", SEQUENCE),
    (lambda: nn.LeakyReLU(0.3), "self.inner(x)", FIXED),
    (lambda: nn.ELU(0.7), "self.inner(x)", FIXED),
    (lambda: nn.Softplus(2.0), "self.inner(x)", FIXED),
    (lambda: nn.PReLU(), "self.inner(x)", FIXED),
    (lambda: nn.PReLU(5), "self.inner(x)", (2, 5)),
    (lambda: nn.Mish(), "self.inner(x)", FIXED),
    (lambda: nn.ReLU6(), "self.inner(x * 9.0)", FIXED),
    (lambda: nn.Hardtanh(-0.5, 0.25), "self.inner(x)", FIXED),
    (lambda: nn.Softsign(), "self.inner(x)", FIXED),
    (lambda: nn.LogSigmoid(), "self.inner(x)", FIXED),
    (lambda: nn.Flatten(0), "self.inner(x)", (2, 5)),
    (lambda: nn.CosineSimilarity(0), "self.inner(x, x + 1.0)", FIXED),
    (lambda: nn.TransformerDecoderLayer(4, 2, 7), "self.inner(x, x[:2] * 0.5)", (3, 4)),
    (lambda: nn.Transformer(4, 2, 1, 1, 5), "self.inner(x, x * 0.5)", (3, 4)),
    (lambda: nn.MultiheadAttention(4, 2), "self.inner(x, x, x, attn_mask=torch.eye(3) < 0.5)", (3, 4)),
    (lambda: nn.Conv2d(2, 3, (2, 3), stride=(1, 2), padding=1), "self.inner(x)", (2, 4, 5)),
    (lambda: nn.Conv2d(2, 3, 2, dilation=2, bias=False), "self.inner(x)", (1, 2, 4, 4)),
    (lambda: nn.MaxPool2d(2, padding=1), "self.inner(x)", (2, 4, 5)),
    (lambda: nn.AvgPool2d((2, 3), stride=1), "self.inner(x)", (1, 2, 4, 5)),
    (lambda: nn.MaxPool1d(2), "self.inner(x)", (2, 6)),
    (lambda: nn.AvgPool1d(3, stride=1), "self.inner(x)", (1, 2, 6)),
    (lambda: nn.AdaptiveMaxPool1d(1), "self.inner(x)", (2, None)),
    (lambda: nn.AdaptiveAvgPool1d(1), "self.inner(x)", (1, 2, 6)),
    (lambda: nn.AdaptiveMaxPool2d(1), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.AdaptiveAvgPool2d((1, 1)), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.AdaptiveAvgPool2d((2, 3)), "self.inner(x.unsqueeze(0))", (2, 5, 7)),
    (lambda: nn.AdaptiveMaxPool2d(3), "self.inner(x)", (2, 7, 4)),
    (lambda: nn.GroupNorm(2, 4), "self.inner(x)", (1, 4, 3)),
    (lambda: nn.GroupNorm(2, 4), "nn.functional.group_norm(x, 2, bias=self.inner.bias)", (1, 4, 3)),
    (lambda: nn.InstanceNorm1d(4, affine=True), "self.inner(x)", (1, 4, 3)),
    (lambda: nn.InstanceNorm2d(2, track_running_stats=True), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.LayerNorm((3, 4)), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.LayerNorm(5, elementwise_affine=False), "self.inner(x)", SEQUENCE),
    (lambda: nn.SELU(), "self.inner(x)", SEQUENCE),
    (lambda: nn.CELU(0.7), "self.inner(x)", FIXED),
    (lambda: nn.RReLU(0.1, 0.5), "self.inner(x)", FIXED),
    (lambda: nn.Hardswish(), "self.inner(x * 4.0)", SEQUENCE),
    (lambda: nn.Hardsigmoid(), "self.inner(x * 4.0)", FIXED),
    (lambda: nn.Tanhshrink(), "self.inner(x)", FIXED),
    (lambda: nn.Softshrink(0.3), "self.inner(x)", SEQUENCE),
    (lambda: nn.Hardshrink(0.3), "self.inner(x)", SEQUENCE),
    (lambda: nn.Threshold(0.1, -3.0), "self.inner(x)", FIXED),
    (lambda: nn.GLU(), "self.inner(x)", (None, 4)),
    (lambda: nn.GLU(0), "self.inner(x)", (4, 5)),
    (lambda: nn.Softmin(dim=0), "self.inner(x)", SEQUENCE),
    (lambda: nn.Softmax2d(), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.InstanceNorm1d(5, affine=True), "self.inner(x)", (5, 7)),
    (lambda: nn.InstanceNorm1d(5), "self.inner(x.transpose(1, 2))", (1, 4, 5)),
    (lambda: nn.InstanceNorm2d(2, affine=True), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.LocalResponseNorm(3, alpha=0.5, k=2.0), "self.inner(x)", (1, 5, 3)),
    (lambda: nn.LocalResponseNorm(2), "self.inner(x)", (1, 4, 2, 3)),
    (lambda: nn.ConvTranspose1d(5, 3, 2), "self.inner(x)", (5, None)),
    (
        lambda: nn.ConvTranspose1d(5, 3, 3, stride=2, padding=1, output_padding=1, dilation=2, bias=False),
        "self.inner(x)",
        (1, 5, 4),
    ),
    (lambda: nn.ConvTranspose1d(4, 6, 3, groups=2), "self.inner(x)", (4, None)),
    (lambda: nn.ConvTranspose2d(2, 3, 2, stride=2), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.ConvTranspose2d(2, 4, 3, (2, 1), 1, (1, 0), groups=2, bias=False), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.ConvTranspose2d(2, 3, 3, padding=2, dilation=2), "self.inner(x)", (None, 2, 3, 4)),
    (lambda: nn.Fold((4, 6), (2, 3), stride=2, padding=1), "self.inner(x)", (1, 12, 9)),
    (lambda: nn.Fold(5, 2, dilation=2), "self.inner(x)", (4, 9)),
    (lambda: nn.Upsample(scale_factor=2), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.Upsample(5, mode="linear", align_corners=True), "self.inner(x)", (1, 2, None)),
    (lambda: nn.UpsamplingNearest2d(scale_factor=3), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.UpsamplingBilinear2d((7, 2)), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.CTCLoss(), "self.inner(x.log_softmax(-1).unsqueeze(1), torch.tensor([[1, 2, 2]]), (9,), (3,))", (9, 5)),
    (
        lambda: nn.CTCLoss(blank=1, reduction="sum", zero_infinity=True),
        "self.inner(x.log_softmax(-1), torch.tensor([2, 0]), torch.tensor([len(x)]), torch.tensor([2]))",
        SEQUENCE,
    ),
    (lambda: parametrizations.weight_norm(nn.Linear(5, 3)), "self.inner(x)", SEQUENCE),
    (lambda: parametrizations.weight_norm(nn.Linear(5, 3), dim=-1), "self.inner(x) + self.inner.weight[:, 0]", FIXED),
    (lambda: parametrizations.weight_norm(nn.Conv1d(5, 3, 1), dim=1), "self.inner(x)", (5, None)),
    (lambda: parametrizations.spectral_norm(nn.Linear(5, 3)), "self.inner(x)", SEQUENCE),
    (lambda: parametrizations.weight_norm(nn.GRU(5, 3), "weight_hh_l0"), "self.inner(x)", SEQUENCE),
    (lambda: nn.Conv1d(4, 3, 2), "self.inner(x)", (None, 4, 5)),
    (lambda: nn.Conv1d(4, 3, 3, padding="same", padding_mode="circular"), "self.inner(x)", (1, 4, 5)),
    (lambda: nn.Conv2d(2, 4, 3, padding="same", groups=2), "self.inner(x)", (1, 2, 4, 5)),
    (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), "self.inner(x)", (2, 4, 5)),
    (lambda: nn.Conv2d(2, 3, (2, 3)), "nn.functional.conv2d(x, self.inner.weight, stride=(1, 2))", (None, 2, 4, 5)),
    (lambda: nn.MaxPool2d(2), "self.inner(x)", (None, 2, 4, 5)),
    (lambda: nn.AdaptiveAvgPool2d((2, 3)), "self.inner(x)", (2, 1, 5, 7)),
    (lambda: nn.LSTM(5, 4, 2, proj_size=3, bidirectional=True), "self.inner(x)", SEQUENCE),
    (lambda: nn.MultiheadAttention(4, 2), "self.inner(x, x, x, average_attn_weights=False)", (None, 4)),
    (lambda: nn.MultiheadAttention(4, 2, kdim=6, vdim=3), "self.inner(x[:, :4], x, x[:, 2:5])", (None, 6)),
    (lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True), "self.inner(x, x, x)", (None, 4)),
    (
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        "self.inner(x, x, x, attn_mask=x.reshape(6, 2, 2), average_attn_weights=False)",
        (3, 2, 4),
    ),
    (
        lambda: nn.Transformer(4, 2, 1, 1, 5, batch_first=True),
        "self.inner(x, x * 0.5, src_key_padding_mask=x[:, :, 0] > 9.0, memory_key_padding_mask=x[:, :, 0] > 9.0)",
        (*BATCH_OF_ONE[:2], 4),
    ),
    (lambda: nn.Conv1d(4, 4, 3, padding="same", groups=4), "self.inner(x)", (4, None)),
    (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), "self.inner(x)", (1, 4, None)),
    (lambda: nn.Conv1d(4, 6, 2, padding="valid"), "self.inner(x)", (4, 5)),
    (lambda: nn.MaxPool1d(3, stride=1, padding=1), "self.inner(x)", (2, None)),
    (lambda: nn.AvgPool1d(2, padding=1), "self.inner(x)", (1, 2, 6)),
    (lambda: nn.Dropout1d(), "self.inner(x)", (2, 6)),
    (lambda: nn.Dropout2d(), "self.inner(x)", (1, 2, 6, 6)),
    (lambda: nn.AlphaDropout(), "self.inner(x)", SEQUENCE),
    (lambda: nn.Unflatten(1, (2, 3)), "self.inner(x)", (None, 6)),
    (lambda: nn.Unfold((2, 3), padding=1, stride=2), "self.inner(x)", (1, 2, 4, 5)),
    (lambda: nn.PixelShuffle(2), "self.inner(x)", (1, 8, 2, 3)),
    (lambda: nn.PixelUnshuffle(2), "self.inner(x)", (2, 4, 6)),
    (lambda: nn.ChannelShuffle(2), "self.inner(x)", (1, 4, 2, 3)),
    (lambda: nn.ConstantPad1d((1, 2), 3.5), "self.inner(x)", (2, 4)),
    (lambda: nn.ZeroPad2d((1, 0, 2, 1)), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.ConstantPad2d(1, -1.0), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.ReflectionPad1d((2, 1)), "self.inner(x)", (2, 4)),
    (lambda: nn.ReflectionPad2d((2, 1, 1, 0)), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.ReplicationPad1d(2), "self.inner(x)", (2, None)),
    (lambda: nn.ReplicationPad2d((0, 1, 2, 0)), "self.inner(x)", (2, 3, 4)),
    (lambda: nn.CircularPad1d(1), "self.inner(x)", (1, 2, None)),
    (lambda: nn.CircularPad2d((1, 2, 0, 3)), "self.inner(x)", (1, 2, 3, 4)),
    (lambda: nn.PairwiseDistance(), "self.inner(x, x.sin())", SEQUENCE),
    (lambda: nn.PairwiseDistance(p=1.0, keepdim=True), "self.inner(x, x.sin())", (2, 5)),
    (lambda: nn.HuberLoss(delta=0.3), "self.inner(x, x.sin())", FIXED),
    (lambda: nn.HingeEmbeddingLoss(0.5), "self.inner(x, x.sign())", SEQUENCE),
    (lambda: nn.MarginRankingLoss(0.2), "self.inner(x[:, 0], x[:, 1], x[:, 2].sign())", SEQUENCE),
    (lambda: nn.CosineEmbeddingLoss(0.1), "self.inner(x, x.sin(), x[:, 2].sign())", SEQUENCE),
    (lambda: nn.TripletMarginLoss(swap=True), "self.inner(x, x.sin(), x.cos())", SEQUENCE),
    (lambda: nn.SoftMarginLoss(reduction="sum"), "self.inner(x, x.sign())", FIXED),
    (lambda: nn.MultiLabelSoftMarginLoss(), "self.inner(x, (x > 0.0).float())", (2, 5)),
    (lambda: nn.MultiMarginLoss(), "self.inner(x, torch.tensor(2))", FIXED),
    (lambda: nn.MultiMarginLoss(p=2, margin=0.5), "self.inner(x, x.argmin(1))", (3, 5)),
    (lambda: nn.PoissonNLLLoss(full=True), "self.inner(x, x.abs() * 3.0)", FIXED),
    (lambda: nn.GaussianNLLLoss(), "self.inner(x, x.sin(), x.abs())", SEQUENCE),
    (lambda: nn.KLDivLoss(reduction="batchmean"), "self.inner(x.log_softmax(-1), x.sigmoid())", (2, 5)),
    (lambda: nn.CrossEntropyLoss(torch.linspace(0.5, 2.0, 5)), "self.inner(x, x.argmin(1))", SEQUENCE),
    (lambda: nn.CrossEntropyLoss(), "self.inner(x, x.softmax(-1))", SEQUENCE),
    (lambda: nn.BCEWithLogitsLoss(pos_weight=torch.linspace(0.5, 2.0, 5)), "self.inner(x, x.sigmoid())", SEQUENCE),
    (nn.Identity, "x[torch.relu(x[:, 0]) > 0.0]", SEQUENCE),
    (nn.Identity, "torch.zeros(4).scatter_add(0, torch.tensor([1, 3, 1, 0, 1]), x)", FIXED),
    (nn.Identity, "torch.zeros(4, 5).index_add_(0, torch.tensor([1, 3]), x)", (2, 5)),
    (nn.Identity, "x.gather(0, torch.tensor([4, 0, 0])) + x.scatter(0, torch.tensor([0, 2]), 7.0)[1:4]", FIXED),
]


def made(build_inner: Callable[[], nn.Module], call: str, folder: Path) -> nn.Module:
    torch.manual_seed(0)
    inner = build_inner()
    for b in inner.buffers():  # so that statistics are not at their initial values
        if b.is_floating_point():
            b.uniform_(0.5, 1.5)
    module: nn.Module = load(folder, CALLS.replace("{call}", call), f"library_{zlib.crc32(call.encode())}").Model(inner).eval()
    return module


def inputs(shape: tuple[int | None, ...]) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn([n if e is None else e for e in shape], generator=generator) for n in (3, 1, 6)]


@pytest.mark.parametrize(("inner", "call", "shape"), CASES, ids=[f"{i}-{type(c[0]()).__name__}" for i, c in enumerate(CASES)])
def test_module(inner: Callable[[], nn.Module], call: str, shape: tuple[int | None, ...], tmp_path: Path) -> None:
    module = made(inner, call, tmp_path)
    agrees(module, inputs(shape))


DROPOUT: list[tuple[Callable[[], nn.Module], str, tuple[int | None, ...]]] = [
    (lambda: nn.RNN(5, 3, num_layers=2, dropout=0.5), "self.inner(x)", SEQUENCE),
    (lambda: nn.GRU(5, 3, num_layers=2, dropout=0.5), "self.inner(x)", SEQUENCE),
    (lambda: nn.LSTM(5, 3, num_layers=2, dropout=0.5), "self.inner(x)", SEQUENCE),
    (lambda: nn.MultiheadAttention(4, 2, dropout=0.5), "self.inner(x, x, x)", (3, 4)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 7), "self.inner(x)", (3, 4)),
    (lambda: nn.TransformerDecoderLayer(4, 2, 7, norm_first=True), "self.inner(x, x)", (3, 4)),
]


@pytest.mark.parametrize(("inner", "call", "shape"), DROPOUT, ids=[type(c[0]()).__name__ for c in DROPOUT])
def test_dropout_is_refused_in_training_and_noticed(
    inner: Callable[[], nn.Module], call: str, shape: tuple[int | None, ...], tmp_path: Path, cache: Path
) -> None:
    module = made(inner, call, tmp_path)
    executable = compile(module, sample=inputs(shape), cache_folder=cache)
    x = inputs(shape)[0]
    with torch.no_grad():
        assert_same(executable([x])[0], module(x), call)
    module.train()
    with pytest.raises(ModuleChanged, match=r"training` was False when it was compiled and is True"):
        executable([x])
    with pytest.raises(CompileError, match="dropout in training") as error:
        build(module, sample=inputs(shape))
    assert error.value.problems[0].span.file.startswith(str(tmp_path))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("part", ["self_attn", "dropout", "dropout1", "dropout2"])
def test_each_dropout_of_a_layer_is_refused(part: str, first: bool, tmp_path: Path) -> None:
    module = made(lambda: nn.TransformerEncoderLayer(4, 2, 7, norm_first=first), "self.inner(x)", tmp_path)
    module.get_submodule(f"inner.{part}").train()
    with pytest.raises(CompileError, match="dropout in training"):
        build(module, sample=inputs((3, 4)))


def test_modules_without_dropout_are_compiled_in_training(tmp_path: Path) -> None:
    for inner in (lambda: nn.LSTM(5, 3, dropout=0.5), lambda: nn.GRU(5, 3, num_layers=2)):  # between layers only
        module = made(inner, "self.inner(x)", tmp_path).train()
        (x, *_) = inputs(SEQUENCE)
        with torch.no_grad():
            assert_same(as_tensors(Interpreter(build(module, sample=[x])).run(x)), module(x), "in training")


def test_every_module_of_the_library_is_tested() -> None:
    inside = {type(m) for c in CASES for m in c[0]().modules()}
    assert library.MODULES.keys() <= inside
    of_torch = [c for c in vars(nn).values() if isinstance(c, type) and issubclass(c, nn.Module)]
    one_call = {c for c in of_torch if isinstance(c.forward, FunctionType) and as_one_call(c.forward) is not None}
    refused = {nn.ReflectionPad3d, nn.ReplicationPad3d, nn.CircularPad3d}  # by `pad`
    assert one_call - inside == {nn.Dropout3d, nn.FeatureAlphaDropout, nn.LazyLinear, nn.NLLLoss2d, *refused}


ROWS = [torch.randn(3, 5, generator=torch.Generator().manual_seed(k)) for k in range(3)]
ARGUMENTS: dict[str, tuple[torch.Tensor | int, ...]] = {
    "margin_ranking_loss": tuple(ROWS),
    "triplet_margin_loss": tuple(ROWS),
    "cosine_embedding_loss": (ROWS[0], ROWS[1], ROWS[2][:, 0].sign()),
    "gaussian_nll_loss": (ROWS[0], ROWS[1], ROWS[2].abs()),
    "multi_margin_loss": (ROWS[0], torch.tensor([4, 0, 1])),
    "multilabel_soft_margin_loss": (ROWS[0], ROWS[1].sigmoid()),
    "instance_norm": (ROWS[0].unsqueeze(0),),
    "local_response_norm": (ROWS[0].unsqueeze(0), 3),
    "renorm": (ROWS[0], 2, 0, 1),
    "ctc_loss": (ROWS[0].log_softmax(-1), torch.tensor([1, 4]), torch.tensor(3), torch.tensor(2)),
    "batch_norm": (ROWS[0], ROWS[1][0], ROWS[2][0].abs()),
}
"""Arguments of those functions below that do not take one or two vectors."""


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in library.FUNCTIONS
        if n.endswith(("loss", "norm")) and n not in ("rms_norm", "group_norm") or n in ("abs", "softplus", "outer")
    ],
)
def test_the_library_is_python_that_eager_runs(name: str) -> None:
    x, y = torch.randn(6), torch.randn(6)
    theirs = OF_OTHER_MODULES.get(name) or getattr(nn.functional, name, None) or getattr(torch, name)
    if name == "nll_loss":
        x, y = torch.log_softmax(x, 0), torch.tensor(2)
    two = name.endswith("loss") or name == "outer"
    arguments = ARGUMENTS.get(name, (x, y) if two else (x,))
    assert torch.allclose(library.FUNCTIONS[name](*arguments), theirs(*arguments), atol=1e-6)


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
def test_remainders_are_exact(name: str) -> None:
    """Also where the quotient is nearly a whole number or large, and for zeros, infinities and NaN: in float32, and in plain
    PyTorch, which fuses no product with a difference."""
    inf, nan = float("inf"), float("nan")
    left = [
        0.0,
        0.1,
        0.3,
        0.6,
        0.7,
        0.9,
        1.0,
        2.5,
        -2.5,
        7.0,
        -7.0,
        1e-3,
        1e5 + 0.1,
        1e10,
        -1e10,
        3.2e38,
        inf,
        -inf,
        nan,
        1e-40,
    ]
    right = [0.1, -0.1, 0.3, 1.0, -1.0, 3.0, -3.0, 2.5, 7.0, 0.0, inf, -inf, nan, 1e-3, 1e30, 3e38]
    x, y = torch.cartesian_prod(torch.tensor(left), torch.tensor(right)).unbind(1)
    known = ~(x.isfinite() & ((x.double() / y.double()).abs() > 2.0**46)) | (y == 0.0)
    mine, theirs = library.FUNCTIONS[name](x, y)[known], getattr(torch, name)(x, y)[known]
    assert torch.allclose(mine, theirs, rtol=1e-6, atol=0.0, equal_nan=True)
    assert torch.equal(
        library.FUNCTIONS[name](torch.tensor([7.5, -7.5]), 2), getattr(torch, name)(torch.tensor([7.5, -7.5]), 2)
    )


def test_a_kernel_whose_extent_varies_is_refused(tmp_path: Path) -> None:
    model = made(lambda: nn.Linear(5, 3), "nn.functional.conv1d(x.view(1, 1, -1), x.view(1, 1, -1))", tmp_path)
    with pytest.raises(CompileError, match="a convolution whose kernel varies in its extents"):
        build(model, sample=inputs((None,)))


def test_weights_of_a_parametrization_are_taken_over(tmp_path: Path, cache: Path) -> None:
    module = made(lambda: parametrizations.weight_norm(nn.Linear(5, 3)), "self.inner(x)", tmp_path)
    executable, (x, *_) = compile(module, sample=inputs(SEQUENCE), cache_folder=cache), inputs(SEQUENCE)
    with torch.no_grad():
        assert_same(executable([x])[0], module(x), "as compiled")
        module.inner.parametrizations.weight.original0.mul_(3.0)  # type: ignore[union-attr, operator]
        executable.load(module)
        assert_same(executable([x])[0], module(x), "with other weights")


def test_hooks_that_make_weights_are_refused_with_what_to_use(tmp_path: Path) -> None:
    module = made(lambda: weight_norm(nn.Linear(5, 3)), "self.inner(x)", tmp_path)
    with pytest.raises(CompileError, match=r"use `torch.nn.utils.parametrizations.weight_norm`"):
        build(module, sample=inputs(SEQUENCE))


DERIVED = """
from torch import nn


class Scaled({base}):
    def forward(self, x):
        return super().forward(x) * 2.0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scaled({arguments})

    def forward(self, x):
        return self.inner(x)
"""


@pytest.mark.parametrize(
    ("base", "arguments"),
    [("nn.Linear", "5, 3"), ("nn.Sequential", "nn.Linear(5, 3), nn.Tanh()"), ("nn.LayerNorm", "5"), ("nn.SiLU", "")],
)
def test_forward_of_a_base_of_pytorch(base: str, arguments: str, tmp_path: Path) -> None:
    text = DERIVED.replace("{base}", base).replace("{arguments}", arguments)
    module = load(tmp_path, text, f"derived_{base[3:].lower()}").Model().eval()
    agrees(module, inputs(SEQUENCE))
