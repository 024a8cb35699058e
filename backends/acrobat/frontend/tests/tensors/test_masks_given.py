"""Masks that functions of the model give, the places of masks of three dimensions, `fill_diagonal_` of masks, and parts of a
tensor named by a set of places. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

TENSORS = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 5, 2)]
IMAGES = [torch.randn(2, h, w, generator=torch.Generator().manual_seed(h)) for h, w in ((3, 4), (1, 1), (2, 5))]
NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


def feasible(demand, visited, current):
    return torch.cat([torch.tensor([current != 0]), ~visited & (demand <= 5.0)])


def left(demand, visited):
    return ~visited & (demand <= 5.0)


def asked_for(self, x):
    visited, counts, current = torch.zeros(len(x), dtype=torch.bool), [], 0
    while not visited.all():
        mask, others = feasible(x[:, 0], visited, current), left(x[:, 0], visited)
        counts.append((mask.sum().item(), others.sum().item()))
        current = len(counts)
        visited[current - 1] = True
    return counts


def without_diagonal(self, x):
    close = torch.cdist(x, x) < 3.0
    close.fill_diagonal_(False)
    rows, columns = close.nonzero(as_tuple=True)
    return close, rows, columns


def places_in_images(self, image):
    kinds, ys, xs = (image > 0.3).nonzero(as_tuple=True)
    return kinds, ys, xs, image[kinds, ys, xs], (image > 0.3).nonzero()


def places_of_a_set(self, numbers):
    used, x, seen = set(), torch.ones(10), []
    for n in numbers:
        used.add(n)
        x = x + 1
        x[list(used)] = 0.0
        if n > 3:
            x[list(used)] = float("-inf")
        seen.append(x.clone())
    return seen


@pytest.mark.parametrize("forward", [asked_for, without_diagonal])
def test_masks(forward) -> None:
    agrees(with_forward(nn.Module(), forward), TENSORS)


def test_places_of_masks_of_three_dimensions() -> None:
    agrees(with_forward(nn.Module(), places_in_images), IMAGES)


def test_places_of_a_set() -> None:
    agrees(with_forward(nn.Module(), places_of_a_set), NUMBERS)


def by_mixed_index(self, numbers):
    chosen = {}
    for i, n in enumerate(numbers):
        chosen["name", i] = "odd" if n % 2 else "even"
        chosen["place", i] = i
    shown = ["."] * len(numbers)
    for i in range(len(numbers)):
        k = chosen["place", i]
        shown[k] = "("
        shown.insert(k, "x")
    return shown


def by_tensor_index(self, x):
    counts = [0] * 4
    for row in x:
        best = row.argmax()
        counts[best] += 1
        counts[row.argmin().item()] = 7
    return counts


def test_items_of_lists_at_mixed_indices() -> None:
    agrees(with_forward(nn.Module(), by_mixed_index), NUMBERS)


def test_items_of_lists_at_places_of_tensors() -> None:
    agrees(with_forward(nn.Module(), by_tensor_index), TENSORS)
