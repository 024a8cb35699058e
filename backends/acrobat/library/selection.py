"""The best of several scores: the instance waits for the scores."""

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
    """The items whose flags are not zero."""
    return [item for item, flag in zip(items, flags) if flag > 0.5]
