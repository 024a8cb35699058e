"""Tensors of results are made by a library of this project's own, and are what PyTorch's functions for slices make."""

from __future__ import annotations

import copy
import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from backends.acrobat.codegen import slices as module
from backends.acrobat.codegen.slices import Slices, by_pytorch, slices

CUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, list[int] | None]] = {
    "numbers": ((5,), (), 5, None),
    "vectors": ((12,), (4,), 3, None),
    "matrices": ((6, 3), (2, 3), 3, None),
    "one row each": ((4, 3, 2, 2), (1, 3, 2, 2), 4, None),
    "empty rows": ((0, 3), (0, 3), 2, None),
    "of several lengths": ((6, 3), (3,), 4, [3, 0, 2, 1]),
    "numbers of several lengths": ((6,), (), 3, [3, 1, 2]),
}
DTYPES = [torch.float32, torch.int64, torch.bool]


@pytest.fixture(params=[slices, lambda: by_pytorch], ids=["direct", "by_pytorch"])
def cut(request: pytest.FixtureRequest) -> Slices:
    way: Slices = request.param()
    return way


@pytest.fixture
def afresh() -> Iterator[None]:
    slices.cache_clear()
    yield
    slices.cache_clear()


def facts(t: torch.Tensor) -> Any:
    version = None if t.is_inference() else t._version
    keys = str(torch._C._dispatch_keys(t))
    kind = (type(t), t.dtype, t.device, keys, t.is_inference(), version, t.requires_grad, t.is_leaf, t._is_view(), t._base)
    return kind, t.shape, t.stride(), t.storage_offset(), t.untyped_storage().data_ptr(), t.is_contiguous(), t.numel()


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CUTS)
def test_they_are_what_pytorch_makes(case: str, dtype: torch.dtype, device: str, inference: bool) -> None:
    whole, shape, count, lengths = CUTS[case]
    with torch.inference_mode(inference):
        buffer = torch.empty(whole, dtype=dtype, device=device)
        mine, theirs = slices()(buffer, shape, count, lengths), by_pytorch(buffer, shape, count, lengths)
        assert isinstance(mine, tuple)
        assert [*map(facts, mine)] == [*map(facts, theirs)]
        if device == "cpu":
            buffer.copy_(torch.arange(buffer.numel()).view(whole))
            assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_the_library_is_built_here() -> None:
    assert slices() is not by_pytorch


def test_without_a_compiler_pytorch_cuts(afresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert slices() is by_pytorch


def test_where_headers_do_not_fit_pytorch_cuts(afresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "SOURCE", tmp_path / "slices.cpp")
    module.SOURCE.write_text("#include <torch/no_such_header.h>\n")
    assert slices() is by_pytorch


def test_each_is_its_own_tensor(cut: Slices) -> None:
    a, b, c = cut(torch.zeros(6, 2), (2, 2), 3, None)
    b += 1
    assert (a._version, b._version, c._version) == (0, 1, 0)
    assert a.sum() == c.sum() == 0
    c.requires_grad_()
    (c * b).sum().backward()  # type: ignore[no-untyped-call]
    assert c.grad is not None and torch.equal(c.grad, torch.ones(2, 2)) and not a.requires_grad
    b.resize_(1, 2)
    assert b.shape == (1, 2) and a.shape == (2, 2)
    b.kept = "an attribute"  # type: ignore[attr-defined]
    assert not hasattr(a, "kept")


def test_they_are_copied_and_pickled(cut: Slices) -> None:
    whole = torch.arange(6.0)
    for t in cut(whole, (2,), 3, None):
        for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), copy.copy(t), t.clone()):
            assert torch.equal(other, t) and other.dtype == t.dtype and type(other) is torch.Tensor


def test_the_last_one_frees_the_buffer(cut: Slices) -> None:
    memory = np.ones((4, 2), np.float32)
    freed = weakref.ref(memory)
    tensors = [*cut(torch.from_numpy(memory), (2, 2), 2, None)]
    del memory
    last = tensors.pop()
    first = weakref.ref(tensors.pop())
    assert first() is None and freed() is not None and last.sum() == 4
    del last
    assert freed() is None
