"""Padding with parts of the tensor itself."""

import torch

from backends.acrobat.library.words import is_fixed, refuse, unrolled


def padded(input, dim, before, after, mode):
    """The input with so many parts of its own before and behind it along `dim`: the outermost one again ("replicate"), those
    that follow it inwards ("reflect"), or those from the other end ("circular")."""
    if before < 0 or after < 0:
        refuse("a negative padding in this mode", "slice the tensor")
    n, parts = input.size(dim), input.unbind(dim)
    most = n - 1 if mode == "reflect" else n
    if n == 0 or mode != "replicate" and (before > most or after > most):
        raise RuntimeError(f"a tensor of {n} parts is padded by {before} and {after} of its own")
    if is_fixed(n):
        places = unrolled(range(-before, n + after))
        if mode == "replicate":
            return torch.stack([parts[min(max(i, 0), n - 1)] for i in places], dim)
        if mode == "reflect":
            return torch.stack([parts[n - 1 - abs(n - 1 - abs(i))] for i in places], dim)
        return torch.stack([parts[i % n] for i in places], dim)
    if mode == "replicate":
        return torch.stack([parts[min(max(i, 0), n - 1)] for i in range(-before, n + after)], dim)
    if mode == "reflect":
        return torch.stack([parts[n - 1 - abs(n - 1 - abs(i))] for i in range(-before, n + after)], dim)
    return torch.stack([parts[i % n] for i in range(-before, n + after)], dim)
