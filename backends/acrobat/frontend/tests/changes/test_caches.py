# mypy: ignore-errors
"""Caches of keys and values: objects and lists that the model hands to its layers, which change them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees

D = 4


class Cache:
    """Its attributes are also names of methods of dictionaries."""

    def __init__(self, layers):
        self.keys = [None] * layers
        self.values = [None] * layers

    def update(self, layer, k, v):
        if self.keys[layer] is None:
            self.keys[layer], self.values[layer] = k, v
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], dim=0)
            self.values[layer] = torch.cat([self.values[layer], v], dim=0)
        return self.keys[layer], self.values[layer]

    @property
    def seen(self):
        return 0 if self.keys[0] is None else self.keys[0].shape[0]


class Attention(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.inner = nn.Linear(D, 3 * D)

    def forward(self, x, cache):
        q, k, v = self.inner(x).chunk(3, dim=-1)
        k, v = cache.update(self.number, k, v)
        return torch.softmax(q @ k.t(), dim=-1) @ v


class Block(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.attention = Attention(number)

    def forward(self, x, cache):
        return x + self.attention(self.norm(x), cache)


class Decoder(nn.Module):
    """The cache goes through blocks into their attention; its property is asked before anything is in it."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(i) for i in range(2))

    def forward(self, x):
        cache = Cache(len(self.blocks))
        places = []
        while cache.seen < 6:
            places.append(cache.seen)
            for block in self.blocks:
                x = block(x, cache)
        return x, places


class Memory(nn.Module):
    """A layer that reads a list, and appends to it."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(D, D)

    def forward(self, x, seen):
        y = torch.tanh(self.inner(x)) + sum(seen, torch.zeros(D))
        seen.append(y)
        return y


class Layers(nn.Module):
    """Layers that have the names of variables, or are items, when they are called."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Memory() for _ in range(3))

    def forward(self, x):
        seen = []
        x = x.mean(0)
        for layer in self.layers:
            x = layer(x, seen)
        for i in range(3):
            x = self.layers[i](x, seen)
        last = self.layers[2]
        return last(x, seen=seen), len(seen)


class SomeLayers(nn.Module):
    """Loops over parts of lists of modules."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(D, D) for _ in range(4))
        self.net = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D))

    def forward(self, x):
        for i, layer in enumerate(self.layers[1:-1]):
            x = torch.tanh(layer(x)) + i
        for layer in self.net[::2]:
            x = layer(x)
        return self.layers[-1](x), len(self.layers[:3])


class Mapping(nn.Module):
    """An instance whose keys are also names of methods of dictionaries."""

    def forward(self, instance):
        return torch.softmax(instance["keys"] @ instance["query"], dim=0) @ instance["values"], instance["items"]


def tensors():
    torch.manual_seed(0)
    return [torch.randn(n, D) for n in (1, 4, 2)]


@pytest.mark.parametrize("model", [Decoder, Layers, SomeLayers], ids=lambda m: m.__name__)
def test_cache(model):
    torch.manual_seed(0)
    agrees(model(), tensors())


def test_keys_named_like_methods_of_dictionaries():
    agrees(Mapping(), [{"keys": x, "values": x + 1, "query": x[0], "items": len(x), "real": 1} for x in tensors()])
