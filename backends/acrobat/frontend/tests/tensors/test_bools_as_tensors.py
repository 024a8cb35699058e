"""Comparisons of tensors of one element, which the program has as bools: as results, alone and beside other tensors, they are
tensors of bools. And the truth of sums of masks and of indices. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

TENSORS = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 5, 2, 4)]
OPERATIONS = {"all": lambda x: x[:, 0], "any": lambda x: x.max() > 1.5, "sum": lambda x: x.sum()}


def computed(x, which):
    if which == 0:
        return x[:, 0]
    if which == 1:
        return x.max() > 1.5
    if which == 2:
        return x[:, 0] > 0
    return x.sum()


def alone(self, x):
    return x.max() > 1.5


def on_each_path(self, x):
    if len(x) % 2:
        return x.max() > 1.5
    return x.min() > 0


def beside_a_bool(self, x):
    if len(x) % 2:
        return x.max() > 1.5
    return True


def beside_tensors(self, x):
    return computed(x, len(x) % 4)


def beside_masks(self, x):
    return computed(x, 1 if len(x) % 2 else 2)


def of_a_chosen_function(self, x):
    return OPERATIONS[["all", "any", "sum"][len(x) % 3]](x)


def used_and_returned(self, x):
    found = computed(x, 1 if len(x) % 2 else 3)
    return "yes" if found else "no", found


def truths(self, x):
    above, best = x[:, 0] > 0, x[0].argmax()
    kept = [row.sum() for row in x if row.argmax()]
    return bool(above.sum()), "a" if above.sum() else "b", "first" if not best else "later", kept


@pytest.mark.parametrize(
    "forward",
    [alone, on_each_path, beside_a_bool, beside_tensors, beside_masks, of_a_chosen_function, used_and_returned, truths],
)
def test_as_in_eager_pytorch(forward) -> None:
    agrees(with_forward(nn.Module(), forward), TENSORS)


def filled(self, x):
    table = torch.full((len(x) + 1, 3), -1e3)
    for i in range(1, len(x) + 1):
        for j in range(1, 3):
            best, place = torch.stack([torch.zeros(()), table[i - 1, j - 1], table[i - 1, j] - 0.5]).max(0)
            table[i, j] = best + x[i - 1, j] + place.item()
    return table[1:, 1:]


def test_parts_beside_calls_in_displays() -> None:
    """A part of a tensor in a list that `stack` copies is no other name for it, also beside what is computed there."""
    agrees(with_forward(nn.Module(), filled), TENSORS)
