"""Idioms of transformers and generators of text: each small model in the interpreter against eager PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees

LENGTHS = (3, 1, 5)


@dataclass
class Output:
    """What an encoder gives; a field that was not asked for is None."""

    last: Tensor
    pooled: Tensor | None = None
    hidden: tuple[Tensor, ...] | None = None


class Scores(NamedTuple):
    last: Tensor
    logits: Tensor | None = None


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x, output_hidden_states=False):
        hidden: Any = () if output_hidden_states else None
        for layer in self.layers:
            if output_hidden_states:
                hidden = hidden + (x,)  # noqa: RUF005 (as it is written everywhere)
            x = torch.tanh(layer(x))
        return Output(last=x, hidden=hidden)


class ModelOutputs(nn.Module):
    """Classes of results whose fields are None in one place and tensors in another, or None everywhere."""

    def __init__(self, hidden: bool):
        super().__init__()
        self.encoder = Encoder()
        self.pooler = nn.Linear(4, 4)
        self.hidden = hidden

    def pool(self, x):
        found = self.encoder(x, output_hidden_states=self.hidden)
        return Output(last=found.last, pooled=self.pooler(found.last[0]), hidden=found.hidden)

    def score(self, x):
        found = Scores(last=x)
        return Scores(last=found.last, logits=self.pooler(x).sum(0)) if found.logits is None else found

    def forward(self, x):
        found = self.pool(x)
        extra = found.hidden[-1] if found.hidden is not None else x
        return found.pooled, extra, self.score(found.last).logits


class OptionalMask(nn.Module):
    """A mask that has a default value, and that the instances give."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, mask=None, scale=2.0):
        scores = x @ x.t()
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.softmax(scores, -1) @ self.layer(x) * scale


class Pairs(OptionalMask):
    """A model that takes a tuple whole, beside an argument that has a default value."""

    def forward(self, pair, mask=None):  # type: ignore[override]
        x, other = pair
        return super().forward(x @ other, mask)


class CacheOfLists(nn.Module):
    """The keys of each layer in a list of lists that starts empty."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, ids):
        cache = [[] for _ in self.layers]  # type: ignore[var-annotated]
        x = torch.zeros(4)
        for word in ids:
            x = x + self.words(torch.tensor(word))
            for i, layer in enumerate(self.layers):
                cache[i].append(layer(x))
                keys = torch.stack(cache[i])
                x = x + torch.softmax(keys @ x, -1) @ keys
        return x, [len(keys) for keys in cache]


class Attention(nn.Module):
    """One position's attention to those before, whose keys it is given; gives the keys with its own."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.key = nn.Linear(4, 4)

    def forward(self, x, past=None):
        key, value = self.key(x), x
        if past is not None:
            key = torch.cat([past[0], key], dim=0)
            value = torch.cat([past[1], value], dim=0)
        return torch.softmax(self.query(x) @ key.t(), -1) @ value, (key, value)


class GrowingCache(nn.Module):
    """Keys that grow by a row in each step: None at first, then a tensor whose extent varies."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([Attention() for _ in range(2)])

    def step(self, word, past):
        x = self.words(torch.tensor([word]))
        presents = []
        for i, layer in enumerate(self.layers):
            found, present = layer(x, past[i] if past is not None else None)
            x = x + found
            presents.append(present)
        return x, presents

    def forward(self, ids):
        past = None
        for word in ids:
            x, past = self.step(word, past)
        return x, past[0][0]  # type: ignore[index]


class ShapesThatDiffer(nn.Module):
    """Tensors whose shapes differ by what an instance has: on two paths, and from round to round."""

    def early(self, x, n):
        if n > 2:
            return x
        return x[:2]

    def forward(self, x, n):
        if n > 1:
            y = x
        else:
            y = x[1:3]
        h = x
        for _ in range(n):
            h = h[:2]
        return self.early(x, n) * 2.0, y, h.sum(), h


class TextCNN(nn.Module):
    """Convolutions of several widths over words (Kim 2014), with the largest value of each over all steps."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.convolutions = nn.ModuleList([nn.Conv2d(1, 3, (k, 4), padding=(k - 1, 0)) for k in (2, 3)])
        self.wide = nn.Conv2d(1, 2, (2, 3), stride=(2, 1), padding=(1, 1), dilation=(2, 1))

    def forward(self, ids):
        image = self.words(ids).unsqueeze(0).unsqueeze(0)
        found = [torch.relu(convolution(image)).squeeze(3) for convolution in self.convolutions]
        largest = [nn.functional.max_pool1d(x, x.size(2)).squeeze(2) for x in found]
        mean = nn.functional.avg_pool1d(found[0], found[0].shape[2])
        return torch.cat(largest, 1), mean, self.wide(image)


def sentences() -> list[list[int]]:
    return [[1, 2, 3], [4], [5, 1, 0, 2, 2]]


CASES: dict[str, tuple[Any, Any]] = {
    "a mask with a default value": (
        OptionalMask,
        lambda: [(torch.randn(n, 4), torch.tril(torch.ones(n, n))) for n in LENGTHS],
    ),
    "a pair in one argument": (Pairs, lambda: [(torch.randn(n, 4), torch.randn(4, 4)) for n in LENGTHS]),
    "convolutions of several widths": (TextCNN, lambda: [torch.randint(0, 10, (n,)) for n in (3, 2, 5)]),
    "a cache that grows": (GrowingCache, sentences),
    "shapes that differ": (ShapesThatDiffer, lambda: [(torch.randn(4), n) for n in (0, 1, 2, 3)]),
    "a cache of lists": (CacheOfLists, sentences),
    "fields that are None": (lambda: ModelOutputs(False), lambda: [torch.randn(n, 4) for n in LENGTHS]),
    "a tuple of hidden states": (lambda: ModelOutputs(True), lambda: [torch.randn(n, 4) for n in LENGTHS]),
}


@pytest.mark.parametrize("name", CASES)
def test_idiom(name: str) -> None:
    torch.manual_seed(0)
    made, instances = CASES[name]
    agrees(made(), instances(), spread=made is not Pairs)
