"""BERxiT (Xin, Tang, Yu and Lin 2021), BERT with early exits: after each layer a head on the first token decides on stopping.

Every layer has the same weights (as in ALBERT), the activation is ReLU, and the first token is classified after the last layer
that ran. The rest is BERT: attention scaled by the root of the head size, layer norm after each residual sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from workloads.decisions import split, stop


@dataclass(frozen=True, slots=True)
class Sample:
    """A sequence after the embedding layer, and the key of its simulated decisions."""

    x: Annotated[Tensor, "sequence", "hidden"]
    key: int


class Berxit(nn.Module):
    """`forward(sample)` gives the index of the best class, after between one and `layers` layers."""

    def __init__(self, heads: int, head_size: int, sequence: int, layers: int, classes: int, real: bool) -> None:
        super().__init__()
        hidden = heads * head_size
        self.heads = heads
        self.head_size = head_size
        self.hidden = hidden
        self.sequence = sequence
        self.layers = layers
        self.real = real
        self.scale = head_size**-0.5
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attended = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.layer_norm = nn.LayerNorm(hidden)
        self.certainty = nn.Linear(hidden, 1)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, sample: Sample) -> Tensor:
        return torch.argmax(self.scores(sample), dim=-1)

    def scores(self, sample: Sample) -> Tensor:
        x = sample.x
        for done in range(1, self.layers + 1):
            x = self.layer(x)
            if stop(self.certain(x), self.layers - done, split(sample.key, done), self.real):
                break
        return self.classify(x)

    def layer(self, x: Tensor) -> Tensor:
        q, k, v = self.by_head(self.query(x)), self.by_head(self.key(x)), self.by_head(self.value(x))
        attention = torch.softmax((q * self.scale) @ k.transpose(1, 2), dim=-1)
        context = (attention @ v).transpose(0, 1).reshape(self.sequence, self.hidden)
        attended = self.attention_norm(self.attended(context) + x)
        return self.layer_norm(self.contract(torch.relu(self.expand(attended))) + attended)

    def by_head(self, x: Tensor) -> Tensor:
        """Each head's part of every token: [heads, sequence, head_size]."""
        return x.view(self.sequence, self.heads, self.head_size).transpose(0, 1)

    def certain(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.certainty(x[0]))

    def classify(self, x: Tensor) -> Tensor:
        return torch.softmax(self.classifier(x[0]), dim=-1)
