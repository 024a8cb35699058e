"""Tensors of fixed shape that get the shape of one whose extent varies: their elements say what that must be."""

from __future__ import annotations

import pytest
import torch

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import LISTS, compare, module
from backends.acrobat.ir.interpreter import Interpreter


def windows(xs):
    x = torch.stack([torch.tensor([float(x), 1.0, 2.0]) for x in [*xs, *range(8)]])
    w = x[len(xs) : len(xs) + 8]
    y = torch.ones(1, 24) * len(xs)
    same = y.view_as(w.t().unsqueeze(0)), (w - y.view_as(w)) * 2
    return same, y.view(w.shape), y.reshape(w.size(0), 3), y.view(*w.shape)


def of_another_extent(xs):
    return torch.ones(1, 6).view(len(xs), 3)


def test_shape_of_another_tensor() -> None:
    build(module(windows), sample=[list(xs) for xs in LISTS])
    compare(windows, LISTS)


def test_another_extent_is_an_error_of_the_instance() -> None:
    program = build(module(of_another_extent), sample=[[1, 2], [3, 4, 5]])
    assert Interpreter(program).run([1, 2]).shape == (2, 3)
    with pytest.raises(InstanceError, match="not 2, for a tensor of 6 elements"):
        Interpreter(program).run([1, 2, 3])
