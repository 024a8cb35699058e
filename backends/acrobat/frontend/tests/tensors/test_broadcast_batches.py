"""Batches of matrices whose number varies, and which is 1 in some instances: products broadcast it. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


def pairs(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [tuple(torch.randn(*s, generator=generator) for s in both) for both in shapes]


def product(self, instance):
    a, b = instance
    return a @ b


def by_letters(self, instance):
    a, b = instance
    return torch.einsum("bij,bjk->bik", a, b), torch.einsum("...ij,...jk->...ki", a, b)


def attended(self, instance):
    q, k = instance
    return (q @ k.transpose(1, 2)).softmax(-1) @ k


def rows(self, instance):
    a, b = instance
    return a.unsqueeze(1) @ b.unsqueeze(2), torch.einsum("ij,ij->i", a, b), torch.einsum("ij,ij->ij", a, b)


MATRICES = pairs(((3, 2, 4), (3, 4, 5)), ((1, 2, 4), (3, 4, 5)), ((3, 2, 4), (1, 4, 5)), ((2, 2, 4), (2, 4, 5)))
QUERIES = pairs(((3, 2, 4), (3, 6, 4)), ((1, 2, 4), (3, 6, 4)), ((3, 2, 4), (1, 6, 4)), ((2, 2, 4), (2, 6, 4)))
ROWS = pairs(((3, 4), (3, 4)), ((1, 4), (3, 4)), ((3, 4), (1, 4)), ((2, 4), (2, 4)), ((1, 4), (1, 4)))
HEADS = pairs(((2, 3, 2, 4), (2, 3, 4, 5)), ((2, 1, 2, 4), (2, 3, 4, 5)), ((2, 3, 2, 4), (2, 1, 4, 5)))
OUTER = pairs(((2, 3, 2, 4), (2, 3, 4, 5)), ((1, 3, 2, 4), (2, 3, 4, 5)), ((2, 3, 2, 4), (1, 3, 4, 5)))
CASES = {
    "matrices": (product, MATRICES),
    "by letters": (by_letters, MATRICES),
    "attention": (attended, QUERIES),
    "rows": (rows, ROWS),
    "heads": (product, HEADS),
    "outer batch": (product, OUTER),
}


@pytest.mark.parametrize("name", CASES)
def test_as_eager(name):
    forward, instances = CASES[name]
    agrees(with_forward(nn.Module(), forward), instances)


@pytest.mark.parametrize("name", CASES)
def test_other_numbers_are_errors_of_the_instance(name):
    forward, instances = CASES[name]
    program = build(with_forward(nn.Module(), forward), sample=instances)
    a, b = instances[0]
    dim = 1 if name == "heads" else 0
    with pytest.raises(InstanceError):
        Interpreter(program).run((a, torch.cat([b, b], dim)))


def without_broadcast(self, instance):
    a, b = instance
    return torch.bmm(a, b)


def attended_by_function(self, instance):
    q, k = instance
    return F.scaled_dot_product_attention(q, k, k)


@pytest.mark.parametrize("forward", [without_broadcast, attended_by_function], ids=lambda f: f.__name__)
def test_what_is_not_broadcast_is_an_error_of_the_instance(forward):
    of_one_number = [MATRICES[0], MATRICES[3]] if forward is without_broadcast else [QUERIES[0], QUERIES[3]]
    program = agrees(with_forward(nn.Module(), forward), of_one_number)
    with pytest.raises(InstanceError):
        Interpreter(program).run(MATRICES[1] if forward is without_broadcast else QUERIES[1])
