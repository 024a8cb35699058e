"""Selection of elements by their values, for which the instance waits."""

import torch

from backends.acrobat.library.words import in_order, refuse


def topk(input, k, dim=-1, largest=True, sorted=True):
    if not largest:
        refuse("topk of the smallest", "negate the scores")
    if k == 1 and input.dim() != 1:
        return input.amax(dim, True), input.argmax(dim, True)
    if input.dim() != 1:
        refuse("topk of several rows", "take it of each row")
    places = in_order(input.tolist(), True)[:k]
    return torch.stack([input[i] for i in places]), torch.tensor(places)


def kept(items, flags):
    """The items whose flag is 1; a flag is 0.0 or 1.0."""
    return [item for item, flag in zip(items, flags) if flag > 0.5]
