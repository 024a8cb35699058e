"""Functions of numpy are refused; what the refusal says to write instead gives what numpy gives."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[2.5, 1.0, 3.0], [4.0], [1.0, 1.0, 0.5, 2.0]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(12.0).view(4, 3))


REFUSED = {
    "sum(xs) / len(xs)": lambda self, xs: self.w[0] * np.mean(xs),
    "sorted(range(len(xs)), key=lambda i: xs[i])": lambda self, xs: self.w[np.argsort(xs)[0] % 4],
    "torch.tensor(xs)": lambda self, xs: torch.tensor(np.array(xs)).sum(),
    "math.exp(x)": lambda self, xs: self.w[0] * np.exp(xs[0]),
    "compute it where the instances are made": lambda self, xs: np.zeros((len(xs), 3)),
    "`torch.tensor` of a list": lambda self, xs: torch.from_numpy(xs),
}


@pytest.mark.parametrize("instead", REFUSED)
def test_the_refusal_says_what_to_write(instead):
    with pytest.raises(CompileError) as error:
        build(with_forward(Model(), REFUSED[instead]), sample=LISTS)
    assert instead in str(error.value)
    assert "which compiled models do not have" in str(error.value)


def instead(self, xs):
    order = sorted(range(len(xs)), key=lambda i: xs[i])
    best, least = max(range(len(xs)), key=lambda i: xs[i]), min(range(len(xs)), key=lambda i: xs[i])
    above = [i for i, x in enumerate(xs) if x > 0]
    numbers = sum(xs) / len(xs), math.prod(xs), max(xs), min(xs), sum(xs)
    return order, best, least, above, numbers, list(itertools.accumulate(xs)), sorted(xs), sorted(set(xs)), torch.tensor(xs)


def test_what_it_says_is_in_the_language_and_gives_what_numpy_gives():
    agrees(with_forward(Model(), instead), LISTS)
    for xs in LISTS:
        order, best, least, above, numbers, sums, ordered, distinct, tensor = instead(None, xs)
        of_numpy = np.mean(xs), np.prod(xs), np.max(xs), np.min(xs), np.sum(xs)
        assert (best, least) == (np.argmax(xs), np.argmin(xs))
        np.testing.assert_allclose(numbers, of_numpy)
        pairs = [(order, np.argsort(xs, kind="stable")), (above, np.where(np.array(xs) > 0)[0]), (sums, np.cumsum(xs))]
        for mine, theirs in [*pairs, (ordered, np.sort(xs)), (distinct, np.unique(xs)), (tensor.tolist(), np.array(xs))]:
            np.testing.assert_allclose(mine, theirs)
