"""Deques of limited length, wherever they are kept, against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

from collections import deque

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[3, 5, 70, 4, 4], [1], [79, 0], [2]]


class M(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(80, 4)
        s.size = 3


class Cache:
    def __init__(self, size):
        self.keys: deque = deque(maxlen=size)
        self.words: deque = deque(maxlen=size)

    def __len__(self):
        return len(self.words)

    def add(self, h, w):
        self.keys.append(h)
        self.words.append(w)

    def dist(self, h):
        keys = torch.stack(list(self.keys))
        att = torch.softmax(keys @ h, dim=0)
        return torch.zeros(80).index_add(0, torch.tensor(list(self.words)), att)


def in_attributes_of_an_object(self, xs):
    c = Cache(self.size)
    out = []
    for x in xs:
        h = self.e.weight[x]
        if len(c):
            out.append(c.dist(h).sum())
        c.add(h, x)
    return out, len(c), c.words[-1], list(c.words), sum(c.words), max(c.words)


def given_to_a_function(self, xs):
    def put(q, x):
        q.append(x)
        return len(q)

    q = deque(maxlen=2)
    ns = [put(q, x) for x in xs]
    return list(q), ns


def in_a_dictionary(self, xs):
    st = {"recent": deque([0], maxlen=3), "n": 0}
    for x in xs:
        st["recent"].append(x)
        st["n"] += 1
    return list(st["recent"]), st["n"], 0 in st["recent"]


def from_the_left(self, xs):
    q = deque(xs, 2)
    q2 = q
    q2.appendleft(7)
    return list(q), q.popleft(), len(q), bool(q), tuple(reversed(q))


def of_tensors(self, xs):
    hs = deque(maxlen=4)
    outs = []
    for x in xs:
        hs.append(self.e.weight[x])
        outs.append(torch.stack(tuple(hs)).mean(0))
    return torch.stack(outs), sum(hs) / len(hs), hs[0]


def in_an_attribute_of_the_model(self, xs):
    self.q = deque(maxlen=3)
    for x in xs:
        self.q.append(x)
    return list(self.q), self.q.maxlen


def an_item_assigned(self, xs):
    q = deque(xs, maxlen=3)
    q[0] = 5
    return list(q)


def walked_and_rotated(self, xs):
    q = deque(maxlen=3)
    out = []
    for x in xs:
        q.append((x, self.e.weight[x]))
        out.append(sum(w for w, _ in q))
        best = max(q, key=lambda t: t[0])
        out.append(best[0])
    q.rotate(1)
    return out, [w for w, _ in q]


def without_a_limit(self, xs):
    q = deque(maxlen=None)
    for x in xs:
        q.append(x)
    return len(q)


FUNCTIONS = [
    in_attributes_of_an_object,
    given_to_a_function,
    in_a_dictionary,
    from_the_left,
    of_tensors,
    in_an_attribute_of_the_model,
    an_item_assigned,
    walked_and_rotated,
    without_a_limit,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_give_eagers_results(function):
    agrees(with_forward(M(), function), SAMPLE)


def test_a_copy() -> None:
    def copied(self, xs):
        last = deque(xs, maxlen=2)
        before = last.copy()
        last.append(9)
        after = list(last)
        last.extendleft([7, 8])
        before.append(5)
        return list(before), after, list(last), len(before)

    agrees(with_forward(nn.Linear(1, 1), copied), [[3, 1, 2], [5], [4, 4, 1, 0, 2]])
