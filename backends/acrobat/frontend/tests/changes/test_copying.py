"""Copies of lists, dictionaries and objects, and what may be changed in them. Against eager PyTorch."""

from __future__ import annotations

import copy
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List  # noqa: UP035

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[1, 2, 3], [4], [2, 2]]


@dataclass
class State:
    stack: List[int]  # noqa: UP006
    score: float = 0.0
    inner: Any = None

    def copy(self):
        return State(list(self.stack), self.score)

    def share(self):
        return State(self.stack, self.score)


class Own:
    def __init__(self, x):
        self.x = x

    def __deepcopy__(self, memo):
        return Own(self.x + 1)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)

    def pushed(self, state, x):
        state = copy.deepcopy(state)
        state.stack.append(x)
        return state


def by_a_method(self, xs):
    beam = [State([0])]
    for x in xs:
        new = []
        for s in beam:
            t = s.copy()
            t.stack.append(x)
            t.score += 0.5 * x
            new.append(t)
            u = s.copy()
            u.score -= 0.25
            new.append(u)
        beam = sorted(new, key=lambda s: -s.score)[:3]
    s = beam[0]
    return self.e.weight[s.stack[-1]] * s.score, len(s.stack)


def deep_object(self, xs):
    s = State([0])
    for x in xs:
        t = copy.deepcopy(s)
        t.stack.append(x)
        t.score += 1
        if x % 2:
            s = t
    return self.e.weight[s.stack[-1]], len(s.stack), s.score


def object_inside(self, xs):
    s = State([0], 1.0, State([3]))
    t = copy.deepcopy(s)
    t.inner.stack.append(5)
    return len(s.inner.stack), len(t.inner.stack)


def in_a_called_function(self, xs):
    states = [State([0])]
    for x in xs:
        states.append(self.pushed(states[-1], x))
    return [len(s.stack) for s in states]


def shallow_object(self, xs):
    s = State([0])
    t = copy.copy(s)
    t.score += 1.0
    return len(t.stack), s.score, t.score


def lists(self, xs):
    ys, zs = copy.copy(xs), xs.copy()
    ys.append(3)
    zs.reverse()
    rows = [[x] for x in xs]
    a, b = deepcopy(rows), copy.copy(rows)
    a[0].append(7)
    b.append([1])
    return ys, zs, len(rows), len(rows[0]), len(a[0]), len(b)


def dictionaries(self, xs):
    d = {x: x for x in xs}
    e = copy.deepcopy(d)
    e[9] = 1
    record: Any = {"seq": [0], "score": 0.0}
    for x in xs:
        new = copy.deepcopy(record)
        new["seq"].append(x)
        new["score"] += x
        record = new
    return len(d), len(e), record["seq"], record["score"]


def under_two_names(self, xs):
    state = State([0])
    other = state
    for x in xs:
        other.stack.append(x)
        other.score += x
    copied = copy.deepcopy(state)
    copied.stack.append(-1)
    copied.score += 0.5
    states = [state, other, State([7])]
    both = copy.deepcopy(states)
    both[0].score = 100.0
    both[1].stack.append(8)
    return state.stack, state.score, copied.stack, copied.score, [(s.stack, s.score) for s in both]


@pytest.mark.parametrize(
    "function",
    [under_two_names, by_a_method, deep_object, object_inside, in_a_called_function, shallow_object, lists, dictionaries],
)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Words(), function), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Words(), by_a_method), LISTS, codegen, tmp_path)


def shared_by_a_method(self, xs):
    s = State([0])
    t = s.share()
    t.stack.append(xs[0])
    return len(s.stack)


def shared_or_not(self, xs):
    s = State([0])
    for x in xs:
        t = s.share() if x > 2 else s.copy()
        t.stack.append(x)
    return len(s.stack)


def shallow_inside(self, xs):
    rows = [[x] for x in xs]
    b = copy.copy(rows)
    b[0].append(1)
    return len(rows[0])


def shallow_object_inside(self, xs):
    s = State([0])
    t = copy.copy(s)
    t.stack.append(3)
    return len(s.stack)


def own_way(self, xs):
    return copy.deepcopy(Own(len(xs))).x


REFUSED = [
    (shared_by_a_method, "may be seen under another name"),
    (shared_or_not, "may be seen under another name"),
    (shallow_inside, "may be seen elsewhere"),
    (shallow_object_inside, "told apart by identity"),
    (own_way, "`Own` says itself how it is copied"),
]


@pytest.mark.parametrize(("function", "words"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_refused(function: Any, words: str) -> None:
    agrees_unless_refused(with_forward(Words(), function), LISTS, words)
