"""Bags of embeddings."""

import torch

from backends.acrobat.library.words import refuse


def embedding_bag(self, input, offsets=None, per_sample_weights=None):
    """`nn.EmbeddingBag` of a single bag: `input` has its ids, of shape (1, ids); the result has shape (1, features)."""
    if offsets is not None or per_sample_weights is not None:
        refuse("an EmbeddingBag with offsets or weights")
    rows = torch.nn.functional.embedding(input, self.weight)
    if self.mode == "sum":
        return rows.sum(1)
    return rows.mean(1) if self.mode == "mean" else rows.amax(1)
