"""Tensors of results are made by a library of this project's own, and are what PyTorch's functions for slices make."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from backends.acrobat.codegen import slices
from backends.acrobat.codegen.slices import Maker, cut_unevenly, library

SHAPES: dict[str, tuple[int, ...]] = {
    "numbers": (),
    "vectors": (4,),
    "matrices": (2, 3),
    "one row": (1, 3, 2, 2),
    "empty": (0, 3),
}
UNEVEN: dict[str, tuple[tuple[int, ...], list[int]]] = {
    "rows": ((3,), [3, 0, 2, 1]),
    "numbers": ((), [3, 1, 2]),
    "without rows": ((2, 3), [0, 0]),
}
DTYPES = [torch.float32, torch.int64, torch.bool]
on_devices = pytest.mark.parametrize("device", ["cpu", "meta"])
of_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)
in_modes = pytest.mark.parametrize("inference", [False, True], ids=["", "inference"])


@pytest.fixture(params=[0, 2, 3, 5, None], ids=["", "2 ahead", "3 ahead", "5 expected", "by PyTorch"])
def maker(request: pytest.FixtureRequest) -> Maker:
    """Makes vectors of two, and has as many ahead; or five more than are cut in these tests; or is PyTorch's way."""
    return with_ahead(Maker(torch.float32, "cpu", (2,), direct=request.param is not None), request.param or 0)


@pytest.fixture
def afresh() -> Iterator[None]:
    library.cache_clear()
    yield
    library.cache_clear()


def with_ahead(maker: Maker, count: int) -> Maker:
    """The maker after it has made `count` tensors ahead."""
    maker.cut(torch.zeros(2 * count), count)
    while ahead(maker):
        pass
    assert maker.ready == count
    return maker


def ahead(maker: Maker) -> bool:
    return maker._lib is not None and bool(maker._lib.acrobat_maker_ahead(maker.address))


def facts(t: torch.Tensor) -> Any:
    version = None if t.is_inference() else t._version
    keys = str(torch._C._dispatch_keys(t))
    kind = (type(t), t.dtype, t.device, keys, t.is_inference(), version, t.requires_grad, t.is_leaf, t._is_view(), t._base)
    return kind, t.shape, t.stride(), t.storage_offset(), t.untyped_storage().data_ptr(), t.is_contiguous(), t.numel()


def same(mine: tuple[torch.Tensor, ...], theirs: tuple[torch.Tensor, ...], buffer: torch.Tensor) -> bool:
    assert isinstance(mine, tuple) and len(theirs) > 1
    if buffer.device.type == "cpu":
        buffer.copy_(torch.arange(buffer.numel()).view(buffer.shape))
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
    return [*map(facts, mine)] == [*map(facts, theirs)] and all(gc.is_tracked(t) for t in mine)


@in_modes
@on_devices
@of_dtypes
@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_what_pytorch_makes(shape: str, dtype: torch.dtype, device: str, inference: bool) -> None:
    extents = SHAPES[shape]
    makers = [Maker(dtype, device, extents, direct) for direct in (True, False)]
    assert makers[0].work and not makers[1].work
    with torch.inference_mode(inference):
        for count in (3, 4, 2):
            buffer = torch.empty((count * extents[0], *extents[1:]) if extents else count, dtype=dtype, device=device)
            assert same(makers[0].cut(buffer, count), makers[1].cut(buffer, count), buffer)
            while ahead(makers[0]):
                pass
            assert makers[0].ready == count


@in_modes
@on_devices
@of_dtypes
@pytest.mark.parametrize("case", UNEVEN)
def test_uneven_ones_are_too(case: str, dtype: torch.dtype, device: str, inference: bool) -> None:
    shape, lengths = UNEVEN[case]
    with torch.inference_mode(inference):
        buffer = torch.empty((sum(lengths), *shape), dtype=dtype, device=device)
        assert same(cut_unevenly(buffer, shape, lengths), cut_unevenly(buffer, shape, lengths, direct=False), buffer)


# ---- the library


def test_without_a_compiler_pytorch_cuts(afresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert library() is None
    assert len(Maker(torch.float32, "cpu", (2,)).cut(torch.zeros(6), 3)) == 3


def test_where_headers_do_not_fit_pytorch_cuts(afresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slices, "SOURCE", tmp_path / "slices.cpp")
    slices.SOURCE.write_text("#include <torch/no_such_header.h>\n")
    assert library() is None


# ---- made ahead


def test_no_more_are_made_ahead_than_the_last_buffer_had() -> None:
    maker = Maker(torch.float32, "cpu", (2,))
    assert not ahead(maker)
    with_ahead(maker, 4)
    assert not ahead(maker) and maker.ready == 4
    maker.cut(torch.zeros(4), 2)
    assert maker.ready == 0
    with_ahead(maker, 2).clear()
    assert maker.ready == 0


def test_nobody_sees_them() -> None:
    maker = Maker(torch.float32, "cpu", (7, 3))
    maker.cut(torch.zeros(21, 3), 3)
    while ahead(maker):
        pass
    seen = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == (7, 3)]
    assert not seen and maker.ready == 3


@in_modes
def test_those_of_the_other_mode_are_dropped(inference: bool) -> None:
    with torch.inference_mode(not inference):
        maker = with_ahead(Maker(torch.float32, "cpu", (2,)), 3)
    with torch.inference_mode(inference):
        assert ahead(maker) is False or maker.ready == 1
        assert [t.is_inference() for t in maker.cut(torch.zeros(6), 3)] == [inference] * 3


def test_they_are_freed_with_the_maker() -> None:
    makers = [Maker(torch.float32, "cpu", (2,)) for _ in range(10)]
    gc.collect()  # garbage of other tests would be collected meanwhile
    before = sys.getallocatedblocks()
    for maker in makers:
        with_ahead(maker, 500)
    held = sys.getallocatedblocks() - before
    makers.clear()
    del maker
    left = sys.getallocatedblocks() - before
    assert held > 4000 and left < 500, (held, left)


# ---- each is an ordinary tensor


def test_each_is_its_own_tensor(maker: Maker) -> None:
    a, b, c = maker.cut(torch.zeros(6), 3)
    b += 1
    assert (a._version, b._version, c._version) == (0, 1, 0)
    assert a.sum() == c.sum() == 0
    c.requires_grad_()
    (c * b).sum().backward()  # type: ignore[no-untyped-call]
    assert c.grad is not None and torch.equal(c.grad, torch.ones(2)) and not a.requires_grad
    b.resize_(1)
    assert b.shape == (1,) and a.shape == (2,)
    b.kept = "an attribute"  # type: ignore[attr-defined]
    assert not hasattr(a, "kept")


def test_they_are_copied_and_pickled(maker: Maker) -> None:
    for t in maker.cut(torch.arange(6.0), 3):
        for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), copy.copy(t), t.clone()):
            assert torch.equal(other, t) and other.dtype == t.dtype and type(other) is torch.Tensor


def test_the_last_one_frees_the_buffer(maker: Maker) -> None:
    memory = np.ones(4, np.float32)
    freed = weakref.ref(memory)
    tensors = [*maker.cut(torch.from_numpy(memory), 2)]
    del memory
    last = tensors.pop()
    first = weakref.ref(tensors.pop())
    assert first() is None and freed() is not None and last.sum() == 2
    del last
    assert freed() is None
