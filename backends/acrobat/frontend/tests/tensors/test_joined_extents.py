"""Tensors flattened over several extents that vary, tensors compared as wholes, and parts repeated by counts."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


def best_pair(self, x):
    joint = x @ x.t()
    flat = joint.view(-1)
    i, j = divmod(flat.argmax().item(), len(x))
    return flat, joint.flatten(), i, j, joint.argmax().item(), flat.softmax(0), joint.view(len(x) * len(x)), joint.numel()


def pairs_as_rows(self, x):
    pairs = x[:, None] + 2 * x[None]
    return pairs.view(-1, 4), pairs.flatten(0, 1), pairs.view(-1, 2, 2), pairs.reshape(-1, 2), pairs.flatten()


def fixed_before_varying(self, x):
    both = torch.stack([x, 2 * x])
    return x.t().flatten(), both.flatten(0, 1), both.view(-1), both.view(2 * len(x), 4), both.reshape_as(both)


def rows_of_a_list(self, x):
    rows = [r * 2 for r in x]
    return torch.stack(rows).flatten() + torch.cat(rows), (x * 2).view(-1, 2, 2).view_as(x)


def compared(self, x):
    big = x * 1e30 * 1e30  # infinities
    found = [torch.allclose(x, y) for y in (x, x + 1e-7, x + 1, big)]
    found += [torch.allclose(big, big), torch.allclose(big, -big), torch.allclose(big - big, big - big, equal_nan=True)]
    found += [x.allclose(x * 1.5, rtol=1), torch.equal(x, x), torch.equal(x, x + 1), torch.equal(x, x[1:]), x.equal(x.t())]
    return found, torch.isclose(x, x.abs()), torch.equal(x[0], x[0, :2])


@pytest.mark.parametrize("forward", [best_pair, pairs_as_rows, fixed_before_varying, rows_of_a_list, compared])
def test_of_rows_that_vary(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 2)])


def attention_maps(self, x):
    image = x[None, None]
    flat = image.flatten()
    weights = flat.softmax(0).view_as(image)
    pooled = (weights * image).sum(dim=(2, 3))
    return weights, pooled, flat.view(1, x.size(0), x.size(1)), flat.reshape(1, 1, *x.shape).squeeze(0)


def test_images_of_varying_size_flattened_and_back():
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), attention_maps), [torch.randn(n, m) for n, m in ((1, 3), (2, 2), (5, 4), (3, 1))])


def extended(self, x):
    history, found = torch.ones(3, 1, x.size(0)), []
    for t in range(x.size(0)):
        history = torch.cat([history, history[:, :1] * t], dim=1)
        found.extend(history[[0, 2]])
    return found


def test_extend_takes_tensors_of_other_extents():
    agrees(with_forward(nn.Module(), extended), [torch.randn(n, 4) for n in (3, 1, 2)])


def of_nothing(self, x):
    return bool((x == 0).all()), bool((x != 0).any()), torch.equal(x, x + 1), torch.allclose(x, x + 1)


def test_all_of_nothing_is_true():
    agrees(with_forward(nn.Module(), of_nothing), [torch.ones(2, 3), torch.zeros(0, 3)])


def not_its_extent(self, x):
    return (x @ x.t()).view(len(x))


def test_the_extent_that_is_given_is_checked():
    program = build(with_forward(nn.Module(), not_its_extent), sample=[torch.randn(n, 4) for n in (1, 2)])
    with pytest.raises(InstanceError):
        Interpreter(program).run(torch.randn(2, 4))


def by_counts(self, x):
    values, counts = x
    rows = torch.tensor(values)[:, None] * torch.ones(3)
    segments = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return rows.repeat_interleave(torch.tensor(counts), dim=0), segments, torch.repeat_interleave(torch.tensor(counts))


def test_parts_repeated_by_counts():
    sample = [([1.0, 2.0, 3.0], [1, 3, 0]), ([5.0], [2]), ([1.0, 4.0], [0, 0])]
    module = with_forward(nn.Module(), by_counts)
    agrees(module, sample)
    for wrong in (([1.0, 2.0], [2, -1]), ([1.0, 2.0], [1, 1, 1])):
        with pytest.raises(InstanceError):
            Interpreter(build(module, sample=sample)).run(wrong)


def unzipped_by_type(self, scores):
    found = [(v, self.table.weight[k]) for v, k in zip(*[t.tolist() for t in scores.topk(2)], strict=False)]
    return found, [self.table.weight[k] * v for v, k in zip(*(t.tolist() for t in scores.topk(2)), strict=False)]


def test_lists_of_ints_beside_lists_of_floats_keep_their_types():
    torch.manual_seed(0)
    module = with_forward(nn.Module(), unzipped_by_type)
    module.table = nn.Embedding(4, 3)
    agrees(module, [torch.randn(4), torch.randn(4)])
