"""Masks that the model makes and changes, as of what was visited, and by which it changes other tensors."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def visited_in_order(self, points):
    """A mask that is changed stays the name's own where it serves as an index."""
    visited = torch.zeros(points.shape[0], dtype=torch.bool)
    tour = []
    while not visited.all():
        scores = points.sum(dim=1)
        scores[visited] = -math.inf
        chosen = scores.argmax().item()
        visited[chosen] = True
        tour.append(chosen)
    return tour


def rows_by_a_mask(self, points):
    kept = torch.zeros(points.shape[0], dtype=torch.bool)
    kept[-1] = True
    rows = points * 2
    rows[kept] = 0.5
    kept[0] = True
    chosen = rows[kept]
    kept[0] = False
    rows[kept] = points[0] + 1
    return rows, chosen, kept


def of_fixed_extent(self, points):
    mask = torch.zeros(3, dtype=torch.bool)
    mask[points.shape[0] - 1] = True
    row = points[0] + 1
    row[mask] = -math.inf
    mask[0] = True
    return row, mask


def floats_of_a_mask(self, points):
    """They are a copy: the mask does not change with them."""
    above, square = points > 0, points[0].unsqueeze(0) * points[0].unsqueeze(1) > 0
    ones, numbers, others = above.float(), square.float(), square.to(torch.float32)
    ones[0] = 5.0
    ones.mul_(2.0)
    numbers.mul_(2.0)
    numbers[0, 0] = 7.0
    others.mul_(-3.0)
    equal = (points.unsqueeze(0) == points.unsqueeze(1)).float().sum(-1)
    counts = torch.arange(len(points)).float()
    counts[0] = 0.5
    same = (torch.arange(len(points)).unsqueeze(0) == torch.arange(len(points)).unsqueeze(1)).float()
    same.fill_diagonal_(0.0)
    return ones, numbers, others, above.sum(0), torch.where(square, 1.0, 2.0), equal, counts, same


@pytest.mark.parametrize("forward", [visited_in_order, rows_by_a_mask, of_fixed_extent, floats_of_a_mask])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    instances = [torch.randn(n, 3) for n in (2, 1, 3)]
    module = with_forward(nn.Module(), forward)
    agrees(module, instances)


def seen_under_another_name(self, points):
    mask = torch.zeros(points.shape[0], dtype=torch.bool)
    other = mask
    chosen = points[mask]
    mask[0] = True
    return chosen, other


def test_a_mask_that_has_another_name_is_not_changed():
    with pytest.raises(CompileError, match="changes a tensor that may be seen under another name than `mask`"):
        build(with_forward(nn.Module(), seen_under_another_name), sample=[torch.randn(n, 3) for n in (2, 1)])


def first_of_a_computed_mask(self, points):
    """The first place is open only at the beginning, and where nothing else is left."""
    visited = torch.zeros(points.size(0), dtype=torch.bool)
    order, left, rounds = [], 2.0, 0
    while rounds < 3:
        rounds += 1
        mask = visited | (points[:, 2] > left)
        mask[0] = len(order) == 0 and not bool(mask[1:].all())
        if mask.all():
            break
        choice = int(points.sum(1).masked_fill(mask, -math.inf).argmax())
        visited[choice] = True
        left -= 0.5
        order.append(choice)
    return order, visited


def parts_of_a_computed_mask(self, points):
    mask = points[:, 0] > 0
    mask[-1] = False
    mask[: points.size(0) // 2] = True
    low = points[:, 1] < 0.3
    low[int(points[:, 2].argmax())] = True
    low[mask] = False
    mask[0] = low[0]
    mask[-1] |= low[-1]
    other = ~mask
    other[0] = 1
    return points.masked_fill(mask.unsqueeze(1), 9.0), mask, low, other


def of_fixed_shape(self, points):
    mask = points[0] > 0
    mask[1] = points.size(0) > 1
    table = points[0] * points[0].unsqueeze(1) > 0
    table[points.size(0) - 1, 2] = True
    table[:, 0] = False
    return mask, torch.where(mask, points[-1], torch.zeros(3)), table


@pytest.mark.parametrize("forward", [first_of_a_computed_mask, parts_of_a_computed_mask, of_fixed_shape])
def test_computed_masks(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 3) for n in (2, 1, 3, 3, 2)])


def with_a_view(self, points):
    mask = points[:, 0] > 0
    part = mask[:1]
    mask[0] = True
    return part


def with_a_view_in_a_list(self, points):
    mask = points[:, 0] > 0
    parts = [mask[:1], mask[0:]]
    mask[0] = not bool(mask[0])
    return [p.float() for p in parts]


def with_two_names(self, points):
    mask = points[:, 0] > 0
    other = mask
    mask[0] = True
    return other


def of_an_argument(self, points):
    def change(m):
        m[0] = True
        return m

    mask = points[:, 0] > 0
    kept = mask
    return change(mask), kept


def with_numbers(self, points):
    mask = points[:, 0] > 0
    mask[0] = points[0, 0]
    return mask


@pytest.mark.parametrize("forward", [with_a_view, with_a_view_in_a_list, with_two_names, of_an_argument, with_numbers])
def test_computed_masks_that_are_not_changed(forward):
    torch.manual_seed(0)
    with pytest.raises(CompileError):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 3) for n in (2, 1)])


def under_two_names(self, points):
    above = points[:1, 0] > 0
    kept = above
    above &= points[:1, 1] > 0
    return kept.float()


def in_a_list(self, points):
    above, every = points[0, 0] > 0, []
    every.append(above)
    above |= points[0, 1] > 0
    return [points[0] if one else points[0] * 2 for one in every]


@pytest.mark.parametrize("forward", [under_two_names, in_a_list])
def test_a_mask_of_one_element_that_is_seen_elsewhere_is_not_changed(forward):
    with pytest.raises(CompileError, match="may change a tensor of one bool in place"):
        build(with_forward(nn.Module(), forward), sample=[torch.ones(2, 3)])


def of_one_element(self, points):
    above, same = points[0, 0] > 0, True
    for point in points:
        above &= point[1] > 0
        same &= bool(point[2] > 0)
    return (points[0] if above else points[0] * 2), same


def test_a_mask_of_one_element_of_its_own():
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), of_one_element), [torch.randn(n, 3).abs() - int(n > 1) for n in (1, 2, 3)])
