"""Rows of tables that ints choose: bags of embeddings, and ones at the places of classes."""

import torch

from backends.acrobat.library.words import refuse, same


def embedding_bag(
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


def classes_marked(index, count):
    """`one_hot` of a tensor of ints as a mask, with `count` classes, or, where it is None, as many as there are."""
    ids = index.flatten().tolist()
    if count is None:
        count = max(ids) + 1
    for i in ids:
        if i < 0 or i >= count:
            raise RuntimeError(f"`one_hot` of the class {i}, where there are {count}")
    return marks(index, count)


def marks(index, count):
    if index.dim() > 1:
        return torch.stack([marks(row, count) for row in index])
    return same(index.unsqueeze(-1), torch.arange(count))


def class_marked(index, count):
    """As `classes_marked`, of one int."""
    if count is None:
        count = index + 1
    if index < 0 or index >= count:
        raise RuntimeError(f"`one_hot` of the class {index}, where there are {count}")
    return same(torch.arange(count), index)
