"""Lists that are attributes of objects to which several names refer: they are changed in place where only the attribute has
them, also after a list with a name was assigned to it, or the objects in it have other names."""

# mypy: ignore-errors
# ruff: noqa: RUF005

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

NUMBERS = [[1, 2, 3], [4, 5], [2], [7, 1, 1, 3], [5, 10, 6, 0, 1]]


class Memory:
    def __init__(self):
        self.values = []
        self.strengths = []

    def pop(self, amount):
        new = list(self.strengths)
        for i in self.order():
            new[i] = self.strengths[i] - amount
        self.strengths = new

    def pop_and_keep(self, amount):
        new = list(self.strengths)
        self.strengths = new
        new.append(amount)
        self.strengths.append(-amount)

    def push(self, value, strength):
        self.values.append(value)
        self.strengths.append(strength)


class Stack(Memory):
    def order(self):
        return reversed(range(len(self.strengths)))


class Queue(Memory):
    def order(self):
        return range(len(self.strengths))


CLASSES = {0: Stack, 1: Queue}


def of_a_class_chosen_by_a_dictionary(self, xs):
    memory = CLASSES[len(xs) % 2]()
    for x in xs:
        memory.pop(x)
        memory.push(x, 3)
    return memory.values, memory.strengths, list(memory.order())


def read_under_the_name_later(self, xs):
    memory = CLASSES[len(xs) % 2]()
    for x in xs:
        memory.pop_and_keep(x)
        memory.push(x, 3)
    return memory.values, memory.strengths


def of_another_object_too(self, xs):
    some, other = Stack(), CLASSES[len(xs) % 2]()
    for x in xs:
        new = list(some.strengths)
        if x % 2:
            other.strengths = new
        some.strengths = new
        some.push(x, x)
        other.push(x, x)
    return some.strengths, other.strengths


def of_an_object_of_the_last_round_too(self, xs):
    memories, new = [Stack(), Queue()], [0]
    for x in xs:
        memory = memories[x % 2]
        memory.strengths = new
        memory.push(x, x)
        new = new if x % 3 else list(new)
    return [m.strengths for m in memories]


@dataclass
class Hyp:
    actions: list = field(default_factory=list)
    states: list[int] = field(default_factory=list)

    def joined(self, action):
        return Hyp(self.actions + [action, action], list(self.states))

    def copied(self, action):
        return Hyp(self.actions + [action, action], self.states.copy())

    def sliced(self, action):
        return Hyp(self.actions + [action, action], self.states[:])

    def without_copy(self, action):
        return Hyp(self.actions + [action, action], self.states)

    def by_a_name(self, action):
        states = list(self.states)
        states.append(action)
        return Hyp(self.actions + [action, action], states)

    def by_a_name_that_changes(self, action):
        states = list(self.states)
        hyp = Hyp(self.actions + [action, action], states)
        states.append(action)
        return hyp


def _beam(step: Any) -> Any:
    def forward(self, xs):
        hyps, done = [Hyp()], []
        for x in xs:
            for hyp in hyps:
                hyp.states.append(x)
            new = []
            for k in range(2):
                hyp = step(hyps[k % len(hyps)], x + k)
                if (x + k) % 5 == 0:
                    done.append(hyp)
                new.append(hyp)
            hyps = new
        return [(h.states, h.actions) for h in done + hyps]

    return forward


@dataclass
class Open:
    kind: int
    at: int


@dataclass
class Search:
    frontier: list[Open] = field(default_factory=lambda: [Open(0, -1)])
    states: list[int] = field(default_factory=list)

    def extended(self, x):
        frontier = self.frontier[:-1]
        for k in range(x % 3):
            frontier.append(Open(k, len(self.states)))
        return Search(frontier, list(self.states))


def search(self, xs):
    live, done = [Search()], []
    for x in xs:
        for one in live:
            one.states.append(x + one.frontier[-1].kind)
        new = []
        for k in range(2):
            one = live[k % len(live)].extended(x + k)
            if one.frontier:
                new.append(one)
            else:
                done.append(one)
        if not new:
            break
        live = new
    return [(s.states, [(o.kind, o.at) for o in s.frontier]) for s in done + live]


def one_list_for_all_elements(self, xs):
    new = list(xs)
    kept = [Kept(new) for _ in range(2)]
    first = kept[0]
    first.roots.append(5)
    first.n += 1
    return [(k.roots, k.n) for k in kept]


def one_list_for_all_rounds(self, xs):
    new, kept = list(xs), []
    for x in xs:
        kept.append(Kept(new))
        kept[-1].roots.append(x)
        kept[0].n += 1
    return [(k.roots, k.n) for k in kept]


def walked_over_by_an_iterator(self, xs):
    new = list(xs)
    steps = iter(new)
    kept = [Kept(new), Kept([1])]
    first = kept[0]
    first.roots.append(5)
    first.n += 1
    return list(steps), [k.roots for k in kept]


class Word:
    def __init__(self, id, form):
        self.id = id
        self.form = form
        self.head = -1


SENTENCES = [[Word(i, form) for i, form in enumerate(xs)] for xs in NUMBERS]


class Forest:
    def __init__(self, words):
        self.roots = list(words)
        for word in self.roots:
            word.head = 0

    def __len__(self):
        return len(self.roots)


class SharedForest(Forest):
    def __init__(self, words):
        self.roots = words


@dataclass
class Kept:
    roots: list
    n: int = 0


def parser(self, words):
    stack, buffer = Forest([]), Forest(words)
    while len(buffer) > 0:
        if len(stack) > 1 and buffer.roots[0].form % 2:
            child = stack.roots.pop()
            child.head = buffer.roots[0].id
        stack.roots.append(buffer.roots[0])
        del buffer.roots[0]
    return [w.id for w in stack.roots], [w.head for w in words]


def forests_in_a_list(self, words):
    forests = [Forest([]), Forest(words)]
    first = forests[0]
    while len(forests[1]) > 0:
        first.roots.append(forests[1].roots.pop())
        if len(first) > 2:
            last = forests[1]
            word = first.roots.pop(0)
            if word.form > 5 and len(last) > 1:
                last.roots.append(word)
    return [w.id for w in first.roots]


def forests_with_one_list(self, words):
    both = list(words)
    forests = [SharedForest(both), SharedForest(both)]
    first = forests[0]
    while len(forests[1]) > 1:
        first.roots.pop()
    return len(first), len(both)


def dataclasses_with_lists_of_words(self, words):
    kept = [Kept(list(words)), Kept(words[:]), Kept([*words, words[0]])]
    for k in kept:
        k.roots.pop(0)
        k.n = len(k.roots)
    return [k.n for k in kept], [[w.id for w in k.roots] for k in kept]


def dataclasses_with_one_list_of_words(self, words):
    both = [*words, words[0]]
    kept = [Kept(both), Kept(list(both)), Kept(both)]
    for k in kept:
        k.roots.pop(0)
        k.n = len(k.roots)
    return [k.n for k in kept], [[w.id for w in k.roots] for k in kept]


class Bag:
    def __init__(self):
        self.items = []

    def __add__(self, x):
        return self.items if x % 2 else [x]


def joined_with_another_list(self, xs):
    rows, more = [[x] for x in xs], [[9]]
    both = rows + more
    rows[0].append(3)
    more[0].append(4)
    return both, rows


def given_by_an_operator(self, xs):
    bag, lists = Bag(), []
    for x in xs:
        items = bag + x
        items.append(x)
        lists.append(len(items))
    return bag.items, lists


TAKEN = [
    (of_a_class_chosen_by_a_dictionary, NUMBERS),
    *((_beam(step), NUMBERS) for step in (Hyp.joined, Hyp.copied, Hyp.sliced)),
    (search, NUMBERS),
    (parser, SENTENCES),
    (forests_in_a_list, SENTENCES),
    (dataclasses_with_lists_of_words, SENTENCES),
]
"""Functions that are in the language, with a sample."""
SEEN_TWICE = [
    (read_under_the_name_later, NUMBERS),
    (of_another_object_too, NUMBERS),
    (of_an_object_of_the_last_round_too, NUMBERS),
    *((_beam(step), NUMBERS) for step in (Hyp.without_copy, Hyp.by_a_name, Hyp.by_a_name_that_changes)),
    (one_list_for_all_elements, NUMBERS),
    (one_list_for_all_rounds, NUMBERS),
    (walked_over_by_an_iterator, NUMBERS),
    (forests_with_one_list, SENTENCES),
    (dataclasses_with_one_list_of_words, SENTENCES),
    (joined_with_another_list, NUMBERS),
    (given_by_an_operator, NUMBERS),
]
"""Functions that change a list under one name and read it under another one."""


@pytest.mark.parametrize(("forward", "sample"), TAKEN)
def test_a_list_that_only_an_attribute_has(forward: Any, sample: Any) -> None:
    agrees(with_forward(nn.Module(), forward), sample, copy.deepcopy(random.Random(0).sample(sample, len(sample))))


@pytest.mark.parametrize(("forward", "sample"), SEEN_TWICE)
def test_a_list_that_has_another_name(forward: Any, sample: Any) -> None:
    agrees_unless_refused(with_forward(nn.Module(), forward), sample, "may be seen|unknown type|branches differ")
