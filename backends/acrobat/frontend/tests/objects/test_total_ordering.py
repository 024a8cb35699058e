"""Classes whose comparisons `functools.total_ordering` completes."""

# mypy: ignore-errors
from __future__ import annotations

from functools import total_ordering

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


@total_ordering
class Version:
    def __init__(self, major, minor):
        self.major = major
        self.minor = minor

    def __eq__(self, other):
        return (self.major, self.minor) == (other.major, other.minor)

    def __lt__(self, other):
        return (self.major, self.minor) < (other.major, other.minor)

    def __hash__(self):
        return hash((self.major, self.minor))

    def __repr__(self):
        return f"v{self.major}.{self.minor}"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))


def compared(self, numbers):
    versions = [Version(n % 3, n) for n in numbers]
    first, last = versions[0], versions[-1]
    signs = first >= last, first > last, first <= last, first == Version(0, 3)
    return str(max(versions)), repr(sorted(versions)), signs, versions.index(min(versions)), self.weight


def test_as_eager() -> None:
    agrees(with_forward(Model(), compared), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), compared), NUMBERS, codegen, tmp_path)
