"""Products of batches of matrices where the number of matrices varies, and that of their rows too."""

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

SIZES = ((3, 2), (1, 1), (5, 3), (4, 1))
GIVEN = [(torch.randn(n, 4, generator=torch.Generator().manual_seed(n)), k) for n, k in SIZES]


def attention_of_hypotheses(self, given):
    """The same sentence for each hypothesis, of which there is one in the first round."""
    words, k = given
    sentence, states, found = words.unsqueeze(0), torch.ones(1, 4), []
    for i in range(k):
        copies = sentence.expand(states.size(0), -1, -1)
        weights = F.softmax(torch.bmm(copies, states.unsqueeze(2)).squeeze(2), dim=-1)
        context = torch.bmm(weights.view(-1, 1, weights.size(-1)), copies).squeeze(1)
        scores = states.sum(1)[: i + 1]
        found.append((scores.unsqueeze(1).expand_as(context) + context).view(-1)[0])
        states = torch.cat([context, states[:1]])
    return context, weights, states, torch.stack(found)


def all_ways(self, given):
    words, k = given
    many = words.expand(k, words.size(0), 4)
    few = torch.stack([torch.full((2, 4), float(i)) for i in range(k)])
    scores = many @ few.transpose(1, 2)
    return (
        scores,
        few @ many.transpose(1, 2),
        torch.bmm(torch.softmax(scores, -1), few),
        many @ few[0].t().unsqueeze(0),
        words @ few[0].t(),
    )


def without_and_with_ones(self, given):
    words, k = given
    n = words.size(0)
    pairs = words[:, 0].expand(k, n)
    wide = pairs.view(k, 1, n, 1)
    return wide, wide.view(k, n), wide.view(-1, n), wide.reshape(1, k, 1, -1), pairs.unsqueeze(-1).view(k, -1)


@pytest.mark.parametrize("forward", [attention_of_hypotheses, all_ways, without_and_with_ones])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def broadcast(self, given):
    words, k = given
    return torch.bmm(words.expand(k, -1, -1), torch.ones(1, 4, 1))


def other_extent(self, given):
    words, k = given
    return words[:, 0].expand(k, -1).view(-1, 1, k)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (broadcast, "an extent is 2, not 1, as `bmm` takes it"),
        (other_extent, "two extents must be equal here, and are 3 and 2"),
    ],
)
def test_extents_that_do_not_agree(forward, message):
    interpreter = Interpreter(build(with_forward(nn.Module(), forward), sample=GIVEN))
    with pytest.raises(InstanceError, match=message):
        interpreter.run(GIVEN[0])
