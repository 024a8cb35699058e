"""Bags of embeddings."""

import torch

from backends.acrobat.library.words import refuse


def embedding_bag(self, input, offsets=None, per_sample_weights=None):
    """One bag: `input` has the ids of one bag, as (1, ids)."""
    if offsets is not None or per_sample_weights is not None:
        refuse("an EmbeddingBag with offsets or weights")
    rows = torch.nn.functional.embedding(input, self.weight)
    if self.mode == "sum":
        return rows.sum(1)
    return rows.mean(1) if self.mode == "mean" else rows.amax(1)
