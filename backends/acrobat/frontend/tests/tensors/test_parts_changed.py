"""Parts and views of tensors that are changed in place, and tensors that change while a view has a name: as in eager PyTorch,
or refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import LISTS, compare, module


def _method_of_a_row(xs):
    t = torch.zeros(len(xs), 4)
    for i, x in enumerate(xs):
        t[i].add_(float(x))
        t[i, 1:3].mul_(2.0)
    return t


def _method_of_a_column(xs):
    t = torch.ones(3, 4) * len(xs)
    t[:, 1].mul_(2.0)
    t[1:].fill_(5.0)
    t[0, 2:].zero_()
    t[2].copy_(t[0])
    return t


def _methods_in_a_row(xs):
    t = torch.ones(3, 4) * len(xs)
    t[0].add_(2.0).mul_(3.0)
    return t


def _row_with_a_name(xs):
    t = torch.zeros(3, 4) + len(xs)
    row = t[1]
    row += 1
    t[1] *= 3
    row[0] = 7.0
    total = row.sum()
    row = t[2]
    row.mul_(2.0)
    return t, row, total


def _rows_of_rounds(xs):
    t = torch.zeros(len(xs), 3)
    for i in range(len(xs)):
        row = t[i]
        row += float(xs[i])
        if xs[i] > 2:
            row[0] = -1.0
    return t


def _rows_walked_over(xs):
    t = torch.zeros(3, 4) + len(xs)
    for row in t:
        row.mul_(2.0)
        row += 1
    for i, row in enumerate(t):
        row[0] += i
    return t


def _slice_with_a_name(xs):
    t = torch.ones(4, 2) * len(xs)
    rest = t[1:]
    rest += 1.0
    return t, rest


def _ints_with_names(xs):
    counts = torch.zeros(10, dtype=torch.long)
    for x in xs:
        seen = counts[x]
        if seen < 2:
            counts[x] += 1
    first = counts[3]
    again = first + 1
    counts[4] = again
    return counts


def _ints_that_change(xs):
    t = torch.tensor(xs)
    first = t[0]
    first += 1
    for i, x in enumerate(t):
        x += i
    return t, int(first) * 2


def _views_computed_with(xs):
    h = torch.zeros(2, 4)
    for x in xs:
        row = h[x % 2]
        if row.sum() > 3:
            row = row * 0.5
        h[x % 2] = torch.cat([row[:2], torch.tanh(row[2:] + float(x))])
    flat = h.view(-1)
    total = (flat * 2).sum() + flat.max().item()
    h[0] = 5.0
    return h, total


def _one_of_two_views(xs):
    rest, total = torch.ones(3), torch.zeros(4)
    steps = torch.arange(3)
    for x in xs:
        h = torch.full((4,), float(x))
        if x != 2:
            weight = rest[0] if x > 1 else h[1]
            total = total + weight * h
        rest[steps] = rest[steps] - 0.25
    return total, rest


def _copies_that_change(xs):
    t = torch.ones(3, 4) * len(xs)
    some = t[[0, 2]]
    some += 1.0
    return t, some


SAME = [v for k, v in list(globals().items()) if k.startswith("_") and getattr(v, "__module__", "") == __name__]


@pytest.mark.parametrize("function", SAME, ids=lambda f: f.__name__)
def test_as_in_eager_pytorch(function: Callable[[Any], Any]) -> None:
    build(module(function), sample=[list(xs) for xs in LISTS if xs])
    compare(function, [xs for xs in LISTS if xs])


def list_of_rows(xs):
    t = torch.zeros(3, 4) + len(xs)
    rows = list(t)
    t += 1.0
    return torch.stack(rows)


def list_of_varying_rows(xs):
    t = torch.zeros(len(xs), 4)
    rows = list(reversed(list(t)))
    t[0] = 7.0
    return torch.stack(rows)


def slice_of_a_slice(xs):
    t = torch.zeros(3, 4) + len(xs)
    t[1:][0] = 5.0
    return t


def item_of_a_column(xs):
    t = torch.zeros(3, 4) + len(xs)
    t[:, 1][0] += 5.0
    return t


def item_of_a_copy(xs):
    t = torch.zeros(3, 4) + len(xs)
    t[[0, 2]][0] = 1.0
    return t


def expanded(xs):
    t = torch.ones(1, 4) * len(xs)
    u = t.expand(3, 4)
    t += 1.0
    return u


def diagonal(xs):
    t = torch.ones(3, 3) * len(xs)
    d = t.diagonal()
    d += 1.0
    return t


def windows(xs):
    t = torch.ones(5) * len(xs)
    w = t.unfold(0, 2, 1)
    w[0] = 0.0
    return t


def named_method(xs):
    t = torch.ones(2, 2) * len(xs)
    view = t.view
    v = view(-1)
    t += 1.0
    return v


def pieces(xs):
    t = torch.zeros(len(xs) + 3)
    a, b = torch.split(t, [2, len(xs) + 1])
    a.add_(1.0)
    return t, b


def last_of_a_loop(xs):
    t = torch.zeros(len(xs), 4)
    total = 0.0
    for row in t:
        total += row.sum()
    row += 1.0
    return t, total


def part_of_a_mask(xs):
    m = torch.tensor(xs) > 2
    kept = [m]
    kept[0][0] = True
    return m


def turned_mask(xs):
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) > len(xs)
    turned = m.T
    m[0, 1] = True
    return turned


def _made_elsewhere(xs):
    return torch.tensor(xs)


def int_that_changes(xs):
    t = _made_elsewhere(xs)
    first = t[0]
    first += 1
    return t


def ints_of_a_loop(xs):
    t = _made_elsewhere(xs)
    for x in t:
        x += 1
    return t


def int_read_later(xs):
    t = torch.tensor(xs)
    first = t[0]
    t += 1
    return first * 2


def ints_in_a_list(xs):
    t = torch.tensor(xs)
    kept = [t[i] for i in range(1)]
    t[0] = 9
    return kept[0] * 2


def swapped_ints(xs):
    t = torch.tensor([*xs, 1])
    t[0], t[1] = t[1], t[0]
    return t


def view_read_later(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[0]
    h[0] = 7.0
    return row + 1


def view_of_a_view(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[0]
    ends = row[2:]
    h[0] = 7.0
    return ends


def view_that_is_kept(xs):
    h, rows = torch.zeros(2, 4) + len(xs), []
    for x in xs:
        row = h[0]
        rows.append(row)
        h[0] = float(x)
    return rows


def view_of_the_round_before(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[1]
    total = row.sum()
    for x in xs:
        total = total + row.sum()
        row = h[0]
        h[0] = float(x)
    return total


def view_in_a_generator(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[0]
    later = (row * x for x in xs)
    h[0] = 3.0
    return list(later)


def view_beside_another_name(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[0]
    other = h
    other[0] = 5.0
    return row * 2


def view_of_a_branch_read_later(xs):
    h, row = torch.zeros(2, 4) + len(xs), torch.zeros(4)
    if len(xs) > 1:
        row = h[0]
    h[0] = 5.0
    return row * 2


def one_of_two_views_read_later(xs):
    h = torch.zeros(2, 4) + len(xs)
    row = h[0] if len(xs) > 1 else h[1]
    h[0] = 5.0
    return row * 2


def part_with_a_second_name(xs):
    t = torch.zeros(3, 4) + len(xs)
    pair = (t, 1)
    t[0].add_(1.0)
    return pair[0]


def part_of_a_partial(xs):
    t = torch.zeros(3, 4) + len(xs)
    total = functools.partial(torch.sum, t)
    t[0].add_(1.0)
    return total()


REFUSED = [list_of_rows, list_of_varying_rows, slice_of_a_slice, item_of_a_column, item_of_a_copy, expanded, diagonal, windows]
REFUSED += [named_method, pieces, last_of_a_loop, part_of_a_mask, turned_mask, int_that_changes, ints_of_a_loop, int_read_later]
REFUSED += [ints_in_a_list, swapped_ints, part_with_a_second_name, part_of_a_partial, view_read_later, view_of_a_view]
REFUSED += [view_that_is_kept, view_of_the_round_before, view_in_a_generator, view_beside_another_name]
REFUSED += [view_of_a_branch_read_later, one_of_two_views_read_later]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(CompileError):
        build(module(function), sample=[list(xs) for xs in LISTS if xs])
