"""Lists that stay empty: those that a loop would change if a flag of the model said so, which have no type, and those that are
given on."""

# mypy: ignore-errors
from __future__ import annotations

from collections import Counter, defaultdict, deque

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import LISTS, module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same


class Model(nn.Module):
    def __init__(self, trace):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)
        self.trace = trace


class OverAList(Model):
    def forward(self, xs):
        h, states, last = torch.zeros(4), [], {}
        for x in xs:
            h = torch.tanh(self.lin(h) + x)
            if self.trace:
                states.append(h)
                last["h"] = h
        if self.trace:
            return h, states, last["h"]
        return h


class WhileSomethingHolds(Model):
    def forward(self, xs):
        h, states, i = torch.zeros(4), [], 0
        while i < len(xs):
            h = torch.tanh(self.lin(h) + xs[i])
            if self.trace and i > 0:
                states.append(h)
            i += 1
            if float(h.sum()) > 3:
                break
        return (h, states) if self.trace else h


class InLoops(Model):
    def forward(self, xs):
        seen, total = [], torch.zeros(4)
        for x in xs:
            for y in xs:
                total = total + self.lin(x * y)
                if self.trace:
                    seen.append(y)
            if self.trace:
                total = total + seen[-1]
        return total


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("model", [OverAList, WhileSomethingHolds, InLoops])
def test_as_in_eager_pytorch(model, trace) -> None:
    agrees(model(trace), [[torch.randn(4) for _ in range(n)] for n in (1, 3, 2)])


def nothing_beside_a_number(xs):
    return sum(xs), [], {}, [[], []], [[] for _ in xs], {x: [] for x in xs}


def nothing_of_each_class(xs):
    return Counter(), Counter([]), defaultdict(list), dict(list(deque())), list(deque()), sorted(set())


def depth(x, path):
    if x <= 0:
        return 0, path
    below, path = depth(x - 1, path)
    return 1 + below, path


def nothing_given_to_a_recursion(xs):
    return depth(len(xs), [])


def asked(kept, seen):
    total = 0
    for x in kept:
        total += x
    while kept:
        total -= kept.pop() + 1
    top = kept[-1] if kept else 5
    return (
        total,
        top,
        len(kept),
        sum(kept),
        [*kept, 1],
        kept * 3,
        3 in kept,
        kept == [],
        sorted(kept),
        seen.get(3, 7),
        list(seen),
    )


def nothing_asked_for(xs):
    return asked([], {})


def first_of(kept):
    return kept[0] * 2 + len(kept[0])


def nothing_to_take(xs):
    return first_of([]) if len(xs) > 2 else len(xs)


def extremes(xs):
    kept = []
    return max(kept, default=3), max(kept) if xs else 4


def nothing_or_none(xs):
    best = None
    for _ in xs:
        best = []
    return best


class Node:
    def __init__(self, x, children=None):
        self.x, self.children = x, children or []


def size(node):
    return node.x + sum(size(c) for c in node.children)


def objects_without_children(xs):
    nodes = [Node(x) for x in xs]
    return [size(n) for n in nodes], [n.children for n in nodes]


def one_of_two_is_filled(xs):
    out, other, seen = [], [], {}
    for x in xs:
        if x in seen:
            out.append(x)
        seen[x] = 1
    return out, other


class Rows(nn.Module):
    """A recursion over what came before, of which there is nothing."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(2, 2)

    def encode(self, depth, history):
        h = torch.ones(2) * depth
        for past in history:
            h = h + self.lin(past)
        if depth == 0:
            return h
        return torch.tanh(self.lin(self.encode(depth - 1, history)) + h)

    def forward(self, xs):
        return self.encode(len(xs), []), []


NEVER_FILLED = [
    nothing_beside_a_number,
    nothing_of_each_class,
    nothing_given_to_a_recursion,
    nothing_asked_for,
    nothing_to_take,
    extremes,
    nothing_or_none,
    objects_without_children,
    one_of_two_is_filled,
]


@pytest.mark.parametrize("function", NEVER_FILLED, ids=lambda f: f.__name__)
def test_lists_that_nothing_is_put_into(function) -> None:
    """They have a type of their own, whose elements are never there: what asks for one is an error, as in Python."""
    program = build(module(function), sample=LISTS)
    verify(program)
    interpreter = Interpreter(program)
    for xs in LISTS:
        try:
            expected = function(list(xs))
        except (IndexError, ValueError):
            with pytest.raises(InstanceError):
                interpreter.run(list(xs))
            continue
        assert_same(as_tensors(interpreter.run(list(xs))), expected, str(xs))


def test_a_recursion_over_nothing() -> None:
    agrees(Rows(), LISTS)
