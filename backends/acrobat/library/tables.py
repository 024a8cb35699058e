"""Bags of embeddings."""

import torch

from backends.acrobat.library.words import refuse


def embedding_bag(self, input, offsets=None, per_sample_weights=None):
    """`nn.EmbeddingBag`."""
    if self.padding_idx is not None or self.include_last_offset or self.max_norm is not None:
        refuse("an EmbeddingBag with `padding_idx`, `include_last_offset` or `max_norm`")
    return bags(input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights)


def bags(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """`torch.nn.functional.embedding_bag`: each row of `input` is a bag, or each part of it that begins at an offset."""
    if padding_idx is not None or include_last_offset or max_norm is not None:
        refuse("`embedding_bag` with `padding_idx`, `include_last_offset` or `max_norm`")
    rows = torch.nn.functional.embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if offsets is None:
        if mode == "max":
            return rows.amax(1)
        return rows.sum(1) if mode == "sum" else rows.mean(1)
    starts = offsets.tolist()
    ends = starts[1:] + [len(input)]
    return torch.stack([bag(rows[start:end], mode) for start, end in zip(starts, ends)])


def bag(rows, mode):
    """The sum, mean or maximum of the rows of one bag; of an empty bag zeros."""
    if mode == "max":
        return rows.amax(0) if len(rows) > 0 else torch.zeros(rows.size(1))
    return rows.sum(0) if mode == "sum" else rows.sum(0) / max(len(rows), 1)
