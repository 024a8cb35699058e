"""Objects that keep a state: made by the model from lists of the instance, reset and stepped by their own methods, with sets
and dictionaries in them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


class Walk:
    """Its `__init__` calls a method that gives it its attributes."""

    def __init__(self, xs):
        self.xs = list(xs)
        self.reset()

    def reset(self):
        self.i = 0
        self.seen = []

    def step(self):
        self.seen.append(self.xs[self.i])
        self.i += 1
        return self.i < len(self.xs)


def reset_in_init(self, xs):
    walk = Walk(xs)
    while walk.step():
        pass
    before = list(walk.seen)
    walk.reset()
    walk.step()
    return before, walk.seen, walk.i


class Base:
    def __init__(self, n):
        self.n = n
        self.log = []
        self.setup(2)
        self.log.append(self.n)

    def setup(self, k):
        self.k = k


class Derived(Base):
    def __init__(self, xs):
        super().__init__(len(xs))
        self.log.append(7)
        self.m = self.k + 1

    def setup(self, k=1):
        super().setup(k * 3)
        self.log.append(k)
        self.extra = torch.ones(2) * self.n


def overridden_in_derived(self, xs):
    made = Derived(xs)
    made.log.append(9)
    return made.log, made.k, made.m, made.extra


class Environment:
    """`reset` gives it attributes that it does not have before."""

    def __init__(self, xs):
        self.xs = list(xs)

    def reset(self):
        self.i = 0
        self.seen = {0}
        self.trace = []
        return self.observe()

    def observe(self):
        return self.xs[self.i], self.i

    def step(self):
        self.i += 1
        self.seen.add(self.i)
        self.trace.append(self.i)
        return self.observe(), self.i + 1 >= len(self.xs)


def attributes_of_reset(self, xs):
    environment = Environment(xs)
    _, i = environment.reset()
    total, done = i, len(xs) == 1
    while not done:
        (x, i), done = environment.step()
        total += x * i
    return total, len(environment.seen), environment.trace


class Finder:
    def __init__(self, xs):
        for i, x in enumerate(xs):
            if x == 3:
                self.first = i

    def get(self):
        return self.first


def given_on_some_paths(self, xs):
    return Finder(xs).get() if 3 in xs else -1


class Running:
    def __init__(self):
        self.clear()

    def clear(self):
        self.total = None
        self.count = 0

    def push(self, x):
        self.total = x if self.total is None else self.total + x
        self.count += 1


def none_at_first(self, xs):
    running = Running()
    for x in xs:
        running.push(x)
    return running.total if running.total is not None else -1, running.count


class Sets:
    def __init__(self):
        self.seen = set()
        self.counts = {}

    def step(self, x):
        self.seen.add(x)
        self.counts.update({x: len(self.seen)})

    def drop(self, x):
        self.seen.discard(x)


def sets_in_objects(self, xs):
    sets = Sets()
    for x in xs:
        sets.step(x)
    sets.drop(1)
    return len(sets.seen), 3 in sets.seen, list(sets.counts.items())


def sets_in_containers(self, xs):
    rows: Any = [set(), set()]
    by_key: Any = defaultdict(set)
    graph: Any = {x: set() for x in xs}
    for x in xs:
        rows[x % 2].add(x)
        by_key[x % 3].add(x)
    for a, b in pairwise(xs):
        graph[a].add(b)
        graph[b].add(a)
    return [len(row) for row in rows], len(by_key), [sorted(graph[x]) for x in xs]


def sets_of_the_model(self, xs):
    self.seen = set()
    self.counts = {}
    for x in xs:
        self.visit(x)
    return len(self.seen), len(self.counts)


class Counter:
    def __init__(self, n):
        self.i, self.n = 0, n

    def step(self):
        self.i += 1
        return self.i < self.n


def conditions_that_change(self, xs):
    one, other, k = Counter(len(xs)), Counter(len(xs)), 0
    while one.step():
        k += 1
    while other.step() and k < 4:
        k += 2
    return one.i, other.i, k


def left_by_return(self, xs):
    counter, k = Counter(len(xs)), 0
    while counter.step():
        k += 1
        if k > 3:
            return k, -1
    return counter.i, k


class Memory:
    def __init__(self, size):
        self.slots = [0] * size
        self.usage = [0] * size

    def write(self, v):
        i = self.usage.index(min(self.usage))
        self.slots[i] = v
        self.usage[i] += 1


def writes(self, xs):
    memory = Memory(2)
    for x in xs:
        memory.write(x)
    return memory.slots, memory.usage


FUNCTIONS = [
    reset_in_init,
    overridden_in_derived,
    attributes_of_reset,
    given_on_some_paths,
    none_at_first,
    sets_in_objects,
    sets_in_containers,
    sets_of_the_model,
    conditions_that_change,
    left_by_return,
    writes,
]


class Model(nn.Module):
    seen: Any
    counts: Any

    def visit(self, x):
        self.seen.add(x)
        self.counts.update({x: 1})


def of(function: Any) -> nn.Module:
    return with_forward(Model(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), LISTS)


def everything(self, xs):
    return reset_in_init(self, xs), attributes_of_reset(self, xs), sets_in_objects(self, xs), conditions_that_change(self, xs)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(everything), LISTS, codegen, tmp_path)


def too_early(self, xs):
    finder = Finder(xs)
    return finder.first


def test_an_attribute_that_is_not_there_yet_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(of(too_early), sample=LISTS))
    assert interpreter.run([2, 3]) == 1
    with pytest.raises(InstanceError, match="AttributeError: 'Finder' object has no attribute 'first'"):
        interpreter.run([2, 4])


def asks_for_it(self, xs):
    return hasattr(Finder(xs), "first")


def seen_twice(self, xs):
    walk = Walk([*xs, 0])
    walk.step()
    other = walk.seen
    walk.step()
    return other


REFUSED = [
    (asks_for_it, "`hasattr` of `first`"),
    (seen_twice, "may be seen"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_refused(function: Any, message: str) -> None:
    agrees_unless_refused(of(function), LISTS, message)


class Hypothesis:
    """Its method has the name of one of a list's, and makes another object."""

    def __init__(self, tokens, score):
        self.tokens = tokens
        self.score = score

    def extend(self, token, score):
        return Hypothesis([*self.tokens, token], self.score + score)


def expanded(hypothesis, words):
    for w in words:
        yield hypothesis.extend(w, w / 2)


def extended_by_a_generator(self, xs):
    live = [Hypothesis([0], 0.5)]
    for _ in range(len(xs) % 3):
        live = [c for h in live for c in expanded(h, xs[:2])]
    best = max(live, key=lambda h: h.score)
    return best.tokens, best.score


class Grown(Hypothesis):
    """Its method of that name changes it."""

    def extend(self, token, score):
        self.tokens.append(token)
        self.score += score


def grow(hypothesis, xs):
    for x in xs:
        hypothesis.extend(x, 0.5)


def extended_in_place(self, xs):
    made = Grown([0], 0.0)
    grow(made, xs)
    return made.tokens, made.score


@pytest.mark.parametrize("forward", [extended_by_a_generator, extended_in_place])
def test_a_method_named_as_a_lists_changes_its_object_only_if_its_source_does(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


class WithClasses(nn.Module):
    """Names the classes of its objects as attributes of its own."""

    Hypothesis = Grown

    class Stack:
        def __init__(self, cell, first):
            self.cell = cell
            self.states = [first]

        def push(self, x):
            self.states.append(self.cell(x) + self.states[-1])

        def __len__(self):
            return len(self.states)

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.Linear(2, 2)

    def forward(self, xs):
        stack, made = self.Stack(self.cell, torch.zeros(2)), self.Hypothesis([0], 0.0)
        for x in xs:
            stack.push(torch.ones(2) * x)
            made.extend(x, 0.5)
            while len(stack) > 3:
                stack.states.pop()
        made.score = made.score + 1
        return len(stack), stack.states[-1], made.tokens, made.score


def test_objects_of_classes_that_are_attributes_of_the_model_are_changed() -> None:
    agrees(WithClasses(), LISTS)
