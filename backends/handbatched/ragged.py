"""Ragged: a transformer encoder over sentences of different lengths, in the three ways that PyTorch has (`Setting.sequences`).

- *packed*: the words of all sentences are rows of one matrix, without padding, and each product with weights is computed once
  for all of them. Sentences lie in the order of their lengths, so attention takes those of one length at a time, as views.
- *padded*: the usual way: all sentences are padded to the longest, and attention is masked.
- *nested*: nested tensors of PyTorch (`torch.nested`, jagged), which its attention takes directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding, layer_norm, scaled_dot_product_attention

from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from backends.pytorch.programs import side_by_side
from workloads.ragged.model import Ragged


class Words(NamedTuple):
    """The words of all sentences, sentence after sentence, and their positions in their sentences. `order`: the sentences'
    numbers in the mini-batch, in the order in which they lie here; `lengths`: their lengths, in the same order."""

    words: Tensor
    positions: Tensor
    order: list[int]
    lengths: list[int]


def laid_out(sentences: Sequence[Sequence[int]], order: Sequence[int], device: str) -> Words:
    """The sentences with these numbers in the mini-batch, in this order, as index vectors on `device`."""
    lengths = np.array([len(sentences[i]) for i in order])
    words = np.fromiter(chain.from_iterable(sentences[i] for i in order), np.int64, int(lengths.sum()))
    positions = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return Words(torch.from_numpy(words).to(device), torch.from_numpy(positions).to(device), list(order), lengths.tolist())


class Layer:
    """A layer on rows [words, hidden], without attention, which is all that differs between the three ways."""

    def __init__(self, model: Any, setting: Setting) -> None:
        self.heads, self.head_size = model.heads, model.head_size
        self.qkv = product(setting.library, *side_by_side(model.query, model.key, model.value))
        self.expand = product(setting.library, model.expand.weight, model.expand.bias, "relu")
        self.attended, self.contract = (
            product(setting.library, part.weight, part.bias) for part in (model.attended, model.contract)
        )
        self.norms = [
            (norm.normalized_shape, norm.weight, norm.bias, norm.eps) for norm in (model.attention_norm, model.layer_norm)
        ]

    def finish(self, x: Tensor, context: Tensor) -> Tensor:
        """All that follows attention, from the layer's input and attention's result, both [words, hidden]."""
        first, second = self.norms
        attended = layer_norm(self.attended(context).add_(x), *first)
        return layer_norm(self.contract(self.expand(attended)).add_(attended), *second)


class Program:
    has_tables = False  # words are added to positions before they are multiplied, so their products cannot be looked up

    def __init__(self, model: Ragged, setting: Setting) -> None:
        self.device = setting.device
        self.words, self.positions = model.embedding.weight, model.positions.weight
        self.layers = [Layer(layer, setting) for layer in model.layers]
        self.attend = {"packed": by_length, "padded": masked, "nested": nested}[setting.sequences]
        self.sorts = setting.sequences == "packed"

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[Tensor]:
        with counts.ingesting():
            order = range(len(minibatch))
            text = laid_out(minibatch, sorted(order, key=lambda i: len(minibatch[i])) if self.sorts else order, self.device)
        x = embedding(text.words, self.words) + embedding(text.positions, self.positions)
        counts.nodes, counts.batches = len(minibatch) * len(self.layers), len(self.layers)
        x = self.attend(self.layers, x, text.lengths)
        outputs: list[Tensor] = [x] * len(minibatch)
        for number, rows in zip(text.order, x.split(text.lengths), strict=True):
            outputs[number] = rows
        return outputs


def by_length(layers: Sequence[Layer], x: Tensor, lengths: Sequence[int]) -> Tensor:
    """All layers in the way *packed*. `x`: [words, hidden], the sentences in the order of their lengths."""
    groups = [(length, len(list(same))) for length, same in groupby(lengths)]
    sizes = [length * count for length, count in groups]
    for layer in layers:
        context = torch.empty_like(x)
        for (length, count), qkv, out in zip(groups, layer.qkv(x).split(sizes), context.split(sizes), strict=True):
            q, k, v = qkv.view(count, length, 3, layer.heads, layer.head_size).permute(2, 0, 3, 1, 4)
            attended = scaled_dot_product_attention(q, k, v)
            out.view(count, length, layer.heads, layer.head_size).copy_(attended.transpose(1, 2))
        x = layer.finish(x, context)
    return x


def masked(layers: Sequence[Layer], x: Tensor, lengths: Sequence[int]) -> Tensor:
    """All layers in the way *padded*. Rows of padding are computed and ignored. `x`: [words, hidden]."""
    present = torch.arange(max(lengths), device=x.device) < torch.tensor(lengths, device=x.device)[:, None]
    padded = x.new_zeros(*present.shape, x.shape[1])
    padded[present] = x
    mask = present[:, None, None]
    count, length, hidden = padded.shape
    rows = padded.view(-1, hidden)
    for layer in layers:
        q, k, v = layer.qkv(rows).view(count, length, 3, layer.heads, layer.head_size).permute(2, 0, 3, 1, 4)
        context = scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(-1, hidden)
        rows = layer.finish(rows, context)
    return rows.view(padded.shape)[present]


def nested(layers: Sequence[Layer], x: Tensor, lengths: Sequence[int]) -> Tensor:
    """All layers in the way *nested*: attention on jagged tensors, all else on the rows of words. `x`: [words, hidden]."""
    offsets = torch.tensor([0, *lengths], device=x.device).cumsum(0)
    for layer in layers:
        parts = layer.qkv(x).view(len(x), 3, layer.heads, layer.head_size).unbind(1)
        q, k, v = (torch.nested.nested_tensor_from_jagged(part.contiguous(), offsets).transpose(1, 2) for part in parts)
        context = scaled_dot_product_attention(q, k, v).transpose(1, 2).values()
        x = layer.finish(x, context.reshape(x.shape))
    return x
