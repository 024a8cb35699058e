"""Tensors of ints and bools that operations compute: `bucketize`, `unique`, `where` of ints, identity masks; numbers of several
rows as lists. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [5, 5], [4, 2, 2, 3, 3, 3, 0, 1]]
VECTORS = [torch.tensor([0.1, -0.5, 0.5, 3.0, float("nan")]), torch.tensor([-7.0]), torch.tensor([0.0, 0.7])]
ROWS = [torch.ones(1, 3), torch.arange(12.0).view(4, 3).sin(), torch.arange(27.0).view(9, 3).cos()]


class Bins(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("bounds", torch.tensor([-0.5, 0.0, 0.5]))
        self.e = nn.Embedding(6, 4)
        self.l = nn.Linear(3, 4)


def buckets(self, x):
    found = torch.bucketize(x, self.bounds), torch.bucketize(x, self.bounds, right=True)
    return (
        found,
        torch.searchsorted(self.bounds, x, side="right"),
        self.e(found[0]),
        self.e(torch.bucketize(x[:1].sum(), self.bounds)),
    )


def fixed_buckets(self, xs):
    x = torch.tensor([0.1 * len(xs), -0.5, 0.5])
    return self.e(torch.bucketize(x, self.bounds)), torch.searchsorted(self.bounds, x.view(3, 1))


def distinct(self, xs):
    t = torch.tensor(xs)
    runs, lengths = t.unique_consecutive(return_counts=True)
    values, places, counts = torch.unique(t, return_inverse=True, return_counts=True)
    return runs, lengths, t.unique_consecutive(), values, places, counts, t.unique().tolist(), (t * 0.5).unique()


def best_path(self, x):
    scores = self.l(x)
    best = scores.argmax(-1).unique_consecutive()
    return "".join("-abc"[i] for i in best.tolist() if i), scores.tolist(), self.l.weight.tolist(), scores.sum().tolist()


def chosen_ints(self, xs):
    t = torch.tensor(xs)
    known = torch.where(t < 4, t, torch.full_like(t, 2))
    fixed = torch.where(torch.tensor([1, 5, 2]) > len(xs), torch.tensor([1, 2, 3]), torch.tensor([0, 0, 5]))
    return self.e(known), torch.where(t < 4, t, 5), torch.where(known > 2, 1, known), fixed, self.e(fixed)


def identity(self, xs):
    x = self.e(torch.tensor(xs))
    scores = (x @ x.t()).masked_fill(torch.eye(len(x), dtype=torch.bool), -1e9)
    return scores, torch.eye(3, dtype=torch.bool), self.e.weight[:2, :2].masked_fill(~torch.eye(2, dtype=torch.bool), 0.0)


def dispatched(self, x):
    """The columns of sorted places: how many there are stays known."""
    gates = torch.relu(self.l(x) - 1)
    ordered, order = torch.nonzero(gates).sort(0)
    rows, columns = ordered.split(1, dim=1)
    signs = (gates > 0).long()
    return ordered, order, torch.nonzero(gates)[order[:, 1], 0], gates[rows.flatten()], columns, signs.t(), signs.sort(0)[0]


def anchors(self, x):
    ys, xs = torch.meshgrid(torch.arange(len(x)), torch.arange(x.shape[1]), indexing="ij")
    shifts = torch.stack([xs, ys, xs, ys], dim=-1).view(-1, 1, 4) * 4 + 0.5
    return (shifts + self.e.weight).view(-1, 4), shifts


def dimensions_of_one_element(self, x):
    ints, n = torch.arange(4 * len(x)), len(x)
    pairs = torch.arange(n).view(-1, 1, 1) * 4 + torch.arange(4).view(1, -1, 1)
    return ints.view(-1, 1, 4), ints.view(1, -1, 4), ints.view(4, -1, 1), ints.view(n, 1, 4) + 1, pairs, pairs.view(n, 1, 4)


def decoded(self, x):
    """Ints below others in a row: one, several, and a number that was computed."""
    row = torch.arange(len(x)).view(1, -1)
    for _ in range(2):
        scores = self.e(row).cumsum(1)
        row = torch.cat((row % 6, scores[:, -1].argmax(-1, keepdim=True)), dim=1)
        best = scores.argmax(-1)
        row = torch.cat((row, best[:, : int(best[0, 0]) + 1]), dim=1)
    return row[0], row


FUNCTIONS = [
    (anchors, ROWS),
    (dimensions_of_one_element, ROWS),
    (decoded, [torch.zeros(2), torch.zeros(5), torch.zeros(1)]),
    (dispatched, [*ROWS, torch.zeros(2, 3)]),
    (buckets, VECTORS),
    (fixed_buckets, LISTS),
    (distinct, LISTS),
    (best_path, ROWS),
    (chosen_ints, LISTS),
    (identity, LISTS),
]


def bools_of_places(self, x):
    places = self.l(x).argmax(-1)
    kept = places.bool()
    kept[0] = False
    kept[-1] = True
    one = self.l(x[0]).argmax()
    return kept, x[~kept], int(kept.sum()), self.l(x).argmax(1).to(torch.bool), one.bool(), one.to(torch.float), one.to("cpu")


def reduced_places(self, x):
    places, only, kept = self.l(x).argmax(-1), self.l(x[:1]).argmax(-1), self.l(x[:1]).argmax(-1, keepdim=True)
    total = x if only.sum() > 1 else -x
    numbers = int(only.sum()), float(places.sum()), only.max().item(), only.sum() * 2, x * only.sum()
    extremes = places.max(), places.min(), places.amax(0), only.amin(0), places.max(0)[1], only.max(0).values
    return (
        total,
        numbers,
        extremes,
        places.sum(0, keepdim=True),
        kept.sum(1),
        bool(kept.bool().any()),
        int(self.l(x).argmax(0).sum()),
    )


def parts_of_written_ints(self, x):
    t, i = torch.tensor([4, 2, 7, 1]), x.size(0) % 4
    parts = t[i], t[1:3], t[:i], t[-1], int(t[i:].sum()), t[[0, 2]], t[t > 2], [int(v) for v in t[1:]]
    shapes = list(t.shape), t.ndim, len(t[None].shape), len(torch.tensor(5).shape), self.l(x[0]).argmax().ndim
    return parts, shapes, t.bool(), torch.tensor([1, 0]).to(torch.bool), t.to(torch.float32), torch.tensor(3).to(x)


def until_nothing_changes(self, x):
    tokens, history = torch.tensor([1, 2]), []
    for step in range(4):  # noqa: B007 (it is read behind the loop)
        before = tokens
        tokens = torch.cat([tokens, tokens[:1] + 1]) if tokens.size(0) < x.size(0) else tokens
        history.append(tokens.tolist())
        if tokens.shape == before.shape and torch.equal(tokens, before):
            break
    return tokens, history, step


FUNCTIONS += [(f, ROWS) for f in (bools_of_places, reduced_places, parts_of_written_ints, until_nothing_changes)]


@pytest.mark.parametrize(("function", "instances"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function: Any, instances: Any) -> None:
    agrees(with_forward(Bins(), function), instances)


def lists_of_its_own(self, xs):
    t = torch.tensor(xs)
    numbers, rows, best = t.tolist(), self.e.weight[:2, :2].tolist(), self.e(t).argmax(1).tolist()
    numbers[0] = 9
    rows[0][1] = 5.0
    rows[1].append(2.0)
    best.append(len(best))
    return numbers, rows, best, t


def test_numbers_read_from_a_tensor_are_a_list_of_its_own() -> None:
    agrees(with_forward(Bins(), lists_of_its_own), LISTS)


REFUSED = {
    "`bucketize` with boundaries of several dimensions": lambda self, x: torch.bucketize(x, self.l.weight),
    "`unique_consecutive` of several dimensions": lambda self, x: self.l(x).unique_consecutive(),
    "`sum` of a tensor of one int without dimensions": lambda self, x: self.l(x[0]).argmax().sum(),
    "`unique` with a dimension": lambda self, x: torch.unique(x, dim=0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(with_forward(Bins(), REFUSED[message]), sample=ROWS)
