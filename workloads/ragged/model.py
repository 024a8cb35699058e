"""A transformer encoder (Vaswani et al. 2017) over a sentence of any length, without padding: the example of CoRa (Fegade et
al., MLSys 2022), a compiler for ragged tensors.

Layer norm follows each residual sum, as in the paper, and the activation is ReLU. The positions are rows of a table, as in
BERT.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Layer(nn.Module):
    """Self-attention and, for each word, a network of two layers. `forward` takes and gives [words, hidden]."""

    def __init__(self, heads: int, head_size: int) -> None:
        super().__init__()
        hidden = heads * head_size
        self.heads = heads
        self.head_size = head_size
        self.scale = head_size**-0.5
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attended = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.layer_norm = nn.LayerNorm(hidden)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.by_head(self.query(x)), self.by_head(self.key(x)), self.by_head(self.value(x))
        attention = torch.softmax((q * self.scale) @ k.transpose(1, 2), dim=-1)
        context = (attention @ v).transpose(0, 1).reshape(-1, self.heads * self.head_size)
        attended = self.attention_norm(self.attended(context) + x)
        return self.layer_norm(self.contract(torch.relu(self.expand(attended))) + attended)

    def by_head(self, x: Tensor) -> Tensor:
        """Each head's part of every word: [heads, words, head_size]."""
        return x.view(-1, self.heads, self.head_size).transpose(0, 1)


class Ragged(nn.Module):
    """`forward(sentence)` gives the last layer's row for every word: [words, hidden]. There is at least one word."""

    def __init__(self, vocabulary: int, heads: int, head_size: int, layers: int, positions: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, heads * head_size)
        self.positions = nn.Embedding(positions, heads * head_size)
        self.layers = nn.ModuleList([Layer(heads, head_size) for _ in range(layers)])

    def forward(self, sentence: list[int]) -> Tensor:
        x = self.embed(sentence)
        for layer in self.layers:
            x = self.apply_layer(layer, x)
        return x

    def embed(self, sentence: list[int]) -> Tensor:
        return self.embedding(torch.tensor(sentence)) + self.positions(torch.arange(len(sentence)))

    def apply_layer(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x)
