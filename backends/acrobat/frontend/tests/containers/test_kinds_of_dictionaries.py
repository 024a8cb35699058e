"""Dictionaries with a value for missing keys: where an annotation says `Dict`, and as parts of something else, where looking
up a missing key enters it. Changes of what `setdefault` gives."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

LISTS = [[], [1], [1, 3, 3], [1, 2, 3, 1, 2]]


@dataclass
class Graph:
    names: list[int] = field(default_factory=list)
    near: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, xs):
        g = cls()
        for a, b in pairwise(xs):
            g.names.append(a)
            g.near[a, b].append(b)
        return g


class InFields(nn.Module):
    def forward(self, xs):
        g = Graph.of(xs)
        total = torch.zeros(1)
        for (a, _), ns in g.near.items():
            total = total + a * len(ns)
        return total, len(g.near), [len(g.near[k]) for k in g.near]


class InResults(nn.Module):
    def degrees(self, xs) -> dict[int, int]:
        found: dict[int, int] = defaultdict(int)
        for x in xs:
            found[x] += 1
        return found

    def forward(self, xs):
        degrees = self.degrees(xs)
        return {"most": max(degrees, key=degrees.get) if degrees else -1, "missing": degrees[99], "all": degrees}


class InNames(nn.Module):
    def forward(self, xs):
        counts: dict[int, int] = Counter(xs)
        return counts[1], counts[99], counts


class AsArguments(nn.Module):
    def looked_up(self, counts: dict[int, int], x: int) -> int:
        return counts[x]

    def forward(self, xs):
        return self.looked_up(Counter(xs), 1), self.looked_up(Counter(xs), 99)


class OfSetdefault(nn.Module):
    def forward(self, xs):
        tally: dict[str, Counter] = {}
        places, seen = {}, []
        for i, x in enumerate(xs):
            tally.setdefault("odd" if x % 2 else "even", Counter())[x] += 1
            places.setdefault(x, {})[i] = len(places) + 10 * x
            seen.append(len(places))
        return {k: c.most_common(1)[0][0] for k, c in tally.items()}, places, seen


class Table:
    def __init__(self):
        self.counts = defaultdict(int)

    def note(self, x):
        self.counts[x] += 1


class LookedUpOnly(nn.Module):
    """Nobody can notice that looking up a key has entered it."""

    def forward(self, xs):
        table, rows = Table(), defaultdict(lambda: defaultdict(int))
        for x in xs:
            table.note(x)
            rows[x % 2][x] += 1
        return [table.counts[x] + rows[x % 2][x] for x in range(4)]


MODELS = [LookedUpOnly, InFields, InResults, InNames, AsArguments, OfSetdefault]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model: Any) -> None:
    agrees(model(), LISTS)


class OfTwoKinds(nn.Module):
    def found(self, xs) -> dict[int, int]:
        if len(xs) > 2:
            return {}
        return defaultdict(int)

    def forward(self, xs):
        return self.found(xs)[3]


def test_a_plain_one_beside_one_with_missing_keys_is_refused() -> None:
    with pytest.raises(CompileError, match=r"a dict.*, a defaultdict"):
        build(OfTwoKinds(), sample=LISTS)


class SeenInAttribute(nn.Module):
    def forward(self, xs):
        table = Table()
        for x in xs:
            table.note(x)
        return table.counts[1], len(table.counts)


class SeenInItem(nn.Module):
    def forward(self, xs):
        rows = defaultdict(lambda: defaultdict(int))
        for x in xs:
            rows[x % 2][x] += 1
        if not xs:
            return 0, 0
        return rows[1][1], len(rows[1])


class SeenInAround(nn.Module):
    def forward(self, xs):
        rows = defaultdict(lambda: defaultdict(int))
        for x in xs:
            rows[x % 2][x] += 1
        return (rows[1][1] if xs else 0), sum(len(row) for row in rows.values())


@pytest.mark.parametrize("model", [SeenInAttribute, SeenInItem, SeenInAround])
def test_a_missing_key_that_would_be_noticed(model: Any) -> None:
    program = build(model(), sample=LISTS)
    interpreter = Interpreter(program)
    for xs in [[1], [1, 3, 3], [1, 2, 3, 1, 2]]:
        assert interpreter.run(xs) == model()(xs)
    with pytest.raises(InstanceError, match="looking up a missing key in this defaultdict enters it"):
        interpreter.run([3])


class OfCounters(nn.Module):
    """What follows which, and how often."""

    def likely(self, counts, x):
        best = counts[x].most_common(1)
        return best[0][0] if best else -1

    def forward(self, xs):
        counts: dict[int, Counter] = defaultdict(Counter)
        for a, b in pairwise(xs):
            counts[a][b] += 1
        return [self.likely(counts, x) for x in range(4)], counts[1].total()


class NGrams:
    def __init__(self, order=3):
        self.order = order
        self.counts: dict[tuple[int, ...], Counter] = defaultdict(Counter)

    def update(self, xs, start=0):
        for i in range(start, len(xs)):
            for n in range(1, self.order):
                if i - n >= 0:
                    self.counts[tuple(xs[i - n : i])][xs[i]] += 1

    def propose(self, xs):
        for n in range(self.order - 1, 0, -1):
            key = tuple(xs[-n:])
            if len(key) == n and key in self.counts:
                ((token, _),) = self.counts[key].most_common(1)
                return token
        return None


class InCaches(nn.Module):
    def forward(self, xs):
        cache = NGrams()
        cache.update(xs)
        found = cache.propose(xs)
        counter = cache.counts.get(tuple(xs[-1:]))
        if not counter:
            return found, 0
        return found, sum(counter.values())


class OfOthers(nn.Module):
    def forward(self, xs):
        seen, text, queues = defaultdict(bool), defaultdict(str), defaultdict(deque)
        for i, x in enumerate(xs):
            seen[x] = True
            text[x] += "ab"
            queues[x].appendleft(i)
        return seen[1], seen[50], text[3], text[51], list(queues[3]), len(queues[52])


@pytest.mark.parametrize("model", [OfCounters, InCaches, OfOthers])
def test_classes_that_make_what_is_missing(model: Any) -> None:
    agrees(model(), LISTS)


class InsideOfAnnotatedLists(nn.Module):
    """What is put into a new list says more than its annotation, which does not tell a defaultdict from a dictionary."""

    def forward(self, xs):
        rounds: list[dict[int, list[int]]] = []
        for d in range(2):
            rounds.append(defaultdict(list))
            for x in xs:
                rounds[-1][x % (d + 2)].append(x)
        pairs: list[tuple[int, dict[int, int]]] = []
        pairs.append((len(xs), Counter(xs)))
        return [[sum(r) for r in held.values()] for held in rounds], [len(held) for held in rounds], pairs[0][1][1]


class InsideOfAnnotatedDictionaries(nn.Module):
    def forward(self, xs):
        table: dict[int, dict[int, int]] = {}
        for x in xs:
            if x % 2 not in table:
                table[x % 2] = defaultdict(int)
            table[x % 2][x] += 1
        counted: dict[str, dict[int, int] | None] = {}
        counted["all"], counted["none"] = defaultdict(int), None
        counted["all"][3] += len(xs)
        return table, counted["none"] is None, [t.get(7, 0) for t in table.values()], counted["all"][4]


class InsideOfAnnotatedAttributes(nn.Module):
    def forward(self, xs):
        found = Found()
        found.add(xs)
        found.add(xs[1:])
        return [len(r) for r in found.rounds], found.named["last"][1]


class Found:
    def __init__(self):
        self.rounds: list[dict[int, list[int]]] = []
        self.named: dict[str, dict[int, int]] = {}

    def add(self, xs: list[int]) -> None:
        by_rest: dict[int, list[int]] = defaultdict(list)
        for x in xs:
            by_rest[x % 3].append(x)
        self.rounds.append(by_rest)
        self.named["last"] = Counter(xs)


class NeverFilled(nn.Module):
    def forward(self, xs):
        table: list[dict[int, list[int]]] = []
        named: dict[str, dict[int, int]] = {}
        for x in xs:
            if x > 100:
                table.append({x: [x]})
        return len(table), [len(t) for t in table], "a" in named, named


@pytest.mark.parametrize(
    "model", [InsideOfAnnotatedLists, InsideOfAnnotatedDictionaries, InsideOfAnnotatedAttributes, NeverFilled]
)
def test_annotations_of_empty_containers_of_dictionaries(model: Any) -> None:
    agrees(model(), LISTS)
