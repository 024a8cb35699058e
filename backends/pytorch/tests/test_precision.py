"""The option `precision` of all systems: what it sets, and which systems refuse it, with which reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from backends.acrobat.backend import Acrobat
from backends.cortex.backend import Cortex
from backends.dgl.backend import DGL
from backends.dynet.backend import DyNet
from backends.handbatched.backend import HandBatched
from backends.jitbatch.backend import JitBatch
from backends.pytorch import precision
from backends.pytorch.backend import PyTorch
from backends.torchfold.backend import TorchFold
from bench.contract import Target, Unsupported
from workloads.tests.conftest import spec

ALL: tuple[Callable[..., Any], ...] = (Acrobat, Cortex, DGL, DyNet, HandBatched, JitBatch, PyTorch, TorchFold)
ON_PYTORCH = (PyTorch, HandBatched, JitBatch, TorchFold)


def now() -> tuple[str, str, str]:
    """PyTorch's settings: what products may be rounded to on a processor and on CUDA, and convolutions on CUDA."""
    libraries: Any = torch.backends
    return libraries.mkldnn.matmul.fp32_precision, libraries.cuda.matmul.fp32_precision, libraries.cudnn.conv.fp32_precision


@pytest.fixture(autouse=True)
def exact_again() -> Iterator[None]:
    yield
    precision.choose("fp32", "cpu", "these tests")


@pytest.mark.parametrize("backend", ALL)
@pytest.mark.parametrize("fewer", ["tf32", "bf16"])
def test_what_cannot_be_is_refused_with_the_reason(
    backend: Callable[..., Any], fewer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a processor without products in bfloat16, every system refuses both."""
    monkeypatch.setattr(precision, "processor_flags", lambda: {"avx2", "fma"})
    with pytest.raises(Unsupported, match=f"^precision={fewer}: .*(CUDA|float32|bfloat16)"):
        backend(Target(), precision=fewer).compile(spec("birnn"), "tiny", 0, 2)


@pytest.mark.parametrize("backend", ALL)
def test_another_precision_is_an_error(backend: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"precision='?fp16'?: operands of products are one of fp32, tf32, bf16"):
        backend(Target(), precision="fp16")


@pytest.mark.parametrize("backend", ON_PYTORCH)
def test_float32_is_float32_whatever_was_set_before(backend: Callable[..., Any]) -> None:
    libraries: Any = torch.backends
    libraries.mkldnn.matmul.fp32_precision = "bf16"
    libraries.cuda.matmul.fp32_precision = libraries.cudnn.conv.fp32_precision = "tf32"
    compiled = backend(Target()).compile(spec("birnn"), "tiny", 0, 2)
    assert now() == ("ieee", "ieee", "ieee")
    assert "precision" not in compiled.facts()


@pytest.mark.parametrize("backend", ON_PYTORCH)
def test_a_processor_with_bfloat16_is_set_to_it(backend: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "processor_flags", lambda: {"amx_bf16"})
    compiled = backend(Target(), precision="bf16").compile(spec("birnn"), "tiny", 0, 2)
    assert now() == ("bf16", "ieee", "ieee")
    assert compiled.facts()["precision"] == "bf16"
    compiled.run(compiled.place(spec("birnn").instances("tiny", 0, 2)))


def test_on_cuda() -> None:
    precision.choose("tf32", "cuda", "PyTorch")
    assert now() == ("ieee", "tf32", "tf32")
    precision.choose("bf16", "cuda", "PyTorch", autocast=True)
    assert now() == ("ieee", "ieee", "ieee")
    with pytest.raises(Unsupported, match="precision=bf16: jitbatch puts results into float32 memory"):
        precision.choose("bf16", "cuda", "jitbatch")


def test_float64_products_are_not_rounded() -> None:
    with pytest.raises(ValueError, match="dtype=float64 and precision=tf32"):
        PyTorch(Target(device="cuda"), dtype="float64", precision="tf32")
