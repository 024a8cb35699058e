"""Masks put together from others in place, tensors of bools and ints like another one, and aliases of what `&=` changes."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def without_repeats(self, x):
    path = x.argmax(1)
    keep = torch.ones_like(path, dtype=torch.bool)
    keep[1:] = path[1:] != path[:-1]
    keep &= path != 0
    return path[keep].tolist(), keep


def by_slices(self, x):
    keep = torch.ones(len(x), dtype=torch.bool)
    keep[-1:] = x[-1:, 0] > 0
    keep[:1] = False
    fixed = torch.ones_like(x[0], dtype=torch.bool)
    fixed[1:] = x[0, 1:] > 0
    fixed &= x[0] > -1
    return keep, x[keep], fixed, torch.zeros_like(x[0], dtype=torch.long), torch.ones_like(x[:, 0], dtype=torch.bool)


def of_a_comparison(self, x):
    keep = x[:, 1] > 0
    keep &= x[:, 0] > -1
    step = torch.tensor(0)
    rows = []
    for row in x:
        rows.append(row + x[step] + x[step.unsqueeze(0)][0])
        step += 0
    return x[keep], rows


def indexed_by_a_list(self, x):
    remaining = list(range(len(x)))
    chain = []
    while remaining:
        chain.append(remaining.pop(x[remaining].sum(1).argmax().item()))
    inverse = torch.empty(len(chain), dtype=torch.long)
    inverse[torch.tensor(chain)] = torch.arange(len(chain))
    return chain, x[inverse], inverse


def last_steps(self, x):
    pairs = torch.stack([x, x + 1], 1)
    last = torch.tensor([i % 2 for i in range(len(x))])
    each = pairs.gather(1, last.view(-1, 1, 1).expand(-1, 1, pairs.size(2))).squeeze(1)
    return each, torch.gather(x, 0, torch.tensor([[0, 0, 0, 0], [0, 0, 0, 0]]))


def beside_comparisons(self, x):
    """Bools that are written out and masks are two forms of one thing, in lists, in branches and in loops."""
    padded = torch.cat([torch.zeros(1, dtype=torch.bool), x[:, 0] > 0])
    both = torch.stack([torch.ones(len(x), dtype=torch.bool), x[:, 1] > 0])
    chosen = torch.ones(len(x), dtype=torch.bool) if len(x) > 2 else x[:, 2] > 0
    seen, each = torch.zeros(len(x), dtype=torch.bool), [torch.zeros(len(x), dtype=torch.bool)]
    for i in range(2):
        each.append(x[:, i] > 0)
        if i:
            seen = x[:, i] > 0
    filled = torch.cat([torch.zeros(1, 4), x]).masked_fill(padded.unsqueeze(1), -1.0)
    return padded, filled, both, chosen, ~chosen, seen, torch.stack(each).any(0), torch.cat(each)


@pytest.mark.parametrize(
    "forward", [without_repeats, by_slices, of_a_comparison, indexed_by_a_list, last_steps, beside_comparisons]
)
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])


def another_name(self, x):
    keep = x[:, 1] > 0
    other = keep
    keep &= x[:, 0] > 0
    return other


def inside_of_a_list(self, x):
    keep = x[:, 1] > 0
    masks = [keep]
    keep |= x[:, 0] > 0
    return masks


def a_view(self, x):
    keep = x[:, 1] > 0
    rest = keep[1:]
    keep ^= x[:, 0] > 0
    return rest


def an_int(self, x):
    at = torch.tensor(len(x))
    before = at
    at += 1
    return before.item()


def ints_seen_otherwise(self, x):
    ids = torch.tensor([1, 2, 3])
    row = ids.view(1, 3)
    ids += 1
    return row


@pytest.mark.parametrize("forward", [another_name, inside_of_a_list, a_view, an_int, ints_seen_otherwise])
def test_aliases_of_what_is_changed_are_refused(forward):
    with pytest.raises(CompileError, match="this changes a tensor in place that may be seen under other names"):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])


def of_masks(self, x):
    return torch.where(x > 0, x > 1, x < -1)


def of_a_bool(self, x):
    return torch.where(x > 0, True, x < -1)


@pytest.mark.parametrize("forward", [of_masks, of_a_bool])
def test_where_makes_no_mask(forward):
    with pytest.raises(CompileError, match="`where` makes no tensors of bools here"):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])
