"""Dictionaries of instances that have values for missing keys: `defaultdict` and `Counter`."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

EDGES = [[], [(1, 0)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (3, 2), (0, 4)]]


def seven():
    return 7


class Graph:
    def __init__(self, edges):
        self.edges, self.size = edges, 5
        self.near, self.sources, self.names = defaultdict(list), defaultdict(set), defaultdict(dict)
        self.degree, self.weight, self.text = defaultdict(int), defaultdict(float), defaultdict(str)
        self.last, self.named, self.pairs = defaultdict(lambda: -1), defaultdict(seven), defaultdict(int)
        self.rows, self.counts = defaultdict(lambda: defaultdict(int)), Counter()
        for a, b in edges:
            self.near[a].append(b)
            self.sources[b].add(a)
            self.names[a][f"to{b}"] = b
            self.degree[a] += 1
            self.weight[b] += 0.5
            self.text[a] += "x"
            self.last[a] = self.named[b] = b
            self.pairs[a, b] += 1
            self.rows[a][b] += 2
            self.counts[f"n{b}"] += 1


class Reads(nn.Module):
    """Looks up missing keys of dictionaries of each kind."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)

    def forward(self, g):
        total, count, weight, text = torch.zeros(3), 0, 0.0, []
        for i in range(g.size):
            for j in g.near[i]:
                total = total + self.emb(torch.tensor(j))
            count += g.degree[i] + len(g.sources[i]) + len(g.names[i]) + g.last[i] + g.named[i] + g.pairs[i, 2]
            count += g.rows[i][1] + g.counts[f"n{i}"]
            weight += g.weight[i]
            text.append(g.text[i])
        return total, count, weight, text


class UnderOtherNames(nn.Module):
    """The dictionary has other names, and one of its class that the model makes is walked over."""

    def depth(self, near, at):
        return 1 + max((self.depth(near, k) for k in near[at]), default=0)

    def forward(self, g):
        groups = defaultdict(list)
        for i in range(g.size):
            groups[len(g.near[i])].append(i)
        near = g.near
        return self.depth(g.near, 0), len(near[9]), {k: len(v) for k, v in groups.items()}


class SeenWithoutMissing(nn.Module):
    """What is asked of the whole dictionary has no key that a look-up would have entered."""

    def forward(self, g):
        return [len(g.near[i]) for i in g.near], list(g.counts.items()), g.counts["n9"], len(g.counts), 2 in g.degree


class SeenWithMissing(nn.Module):
    def forward(self, g):
        return sum(g.degree[i] for i in range(g.size)), len(g.degree)


class InTuples(nn.Module):
    """An argument that has the dictionaries in it."""

    def forward(self, ds):
        return len(ds[0][7]) + ds[1][7] + ds[2][0][3]


@dataclass
class Annotated:
    nodes: list[int]
    near: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[int, dict[int, int]] = field(default_factory=dict)


class ReadsAnnotated(nn.Module):
    def forward(self, g: Annotated):
        return [len(g.near[i]) + g.rows[0][i] for i in g.nodes]


@pytest.mark.parametrize("model", [Reads, UnderOtherNames, SeenWithoutMissing])
def test_as_in_python(model) -> None:
    agrees(model(), [*map(Graph, EDGES)])


def test_in_tuples_and_lists() -> None:
    instances = [(defaultdict(list, {0: [1]}), Counter([2]), [defaultdict(int, {i: 4})]) for i in range(4)]
    agrees(InTuples(), instances)


def test_annotations_do_not_say_what_missing_keys_give() -> None:
    agrees(
        ReadsAnnotated(), [Annotated([0, 1], defaultdict(list, {0: [1]}), {0: defaultdict(int, {i: i + 1})}) for i in range(3)]
    )


def test_a_key_that_the_program_could_notice_is_an_error() -> None:
    interpreter = Interpreter(build(SeenWithMissing(), sample=[*map(Graph, EDGES)]))
    with pytest.raises(InstanceError, match="looking up a missing key in this defaultdict enters it"):
        interpreter.run(Graph(EDGES[1]))


class OfUnknown(nn.Module):
    def forward(self, d):
        return d[0] + d[1]


def of_instance(n):
    return defaultdict(lambda: n, {0: n})


def test_a_function_with_values_of_its_instance_is_not_taken_for_another() -> None:
    interpreter = Interpreter(build(OfUnknown(), sample=[of_instance(1), of_instance(2)]))
    with pytest.raises(InstanceError, match="it is not known what this dictionary gives for a missing key"):
        interpreter.run(of_instance(2))
    assert interpreter.run(defaultdict(int, {0: 1, 1: 2})) == 3
