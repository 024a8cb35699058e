"""Tensors of many rows with other rows in places that are known at run time only. Each row of the result is the one from
before or the new one, by a mask."""

import torch


def row_at(x, place):
    return x[place]


def replaced_at(x, place, row):
    """`x` with `row` at one place, where a place below zero is counted from the end. Outside is an error of the instance."""
    if place < -x.size(0) or place >= x.size(0):
        raise IndexError(f"index {place} is out of bounds for dimension 0 with size {x.size(0)}")
    return where_chosen(x, torch.arange(x.size(0)) == place % x.size(0), row)


def replaced_in_turn(x, places, rows):
    """`x` with each of the rows at its place. Of several rows at one place the last one counts."""
    for place, row in zip(places, rows):
        x = replaced_at(x, place, row)
    return x


def among(x, places):
    """Which rows of `x` are named by the places, as a mask."""
    for place in places:
        if place < -x.size(0) or place >= x.size(0):
            raise IndexError(f"index {place} is out of bounds for dimension 0 with size {x.size(0)}")
    chosen = torch.zeros(x.size(0))
    for place in places:
        chosen = chosen + (torch.arange(x.size(0)) == place % x.size(0)).float()
    return chosen > 0.0


def where_chosen(x, chosen, row):
    """`row` in the chosen rows of `x`."""
    if x.dim() == 1:
        return torch.where(chosen, row, x)
    if x.dim() == 2:
        return torch.where(chosen.unsqueeze(-1), row, x)
    if x.dim() == 3:
        return torch.where(chosen.unsqueeze(-1).unsqueeze(-1), row, x)
    return torch.where(chosen.unsqueeze(-1).unsqueeze(-1).unsqueeze(-1), row, x)
