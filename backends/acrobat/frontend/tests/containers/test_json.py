"""What a JSON file has in it: values of all its types in one place, and dictionaries of many sets of names."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend.tests.containers.test_walked_dictionaries import Base
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


class Documents(Base):
    """Any document. In Python a bool is an int, so that it is asked for first."""

    def encode(self, value):
        if value is None:
            return self.embed.weight[0]
        if isinstance(value, bool):
            return self.embed.weight[1 if value else 2]
        if isinstance(value, (int, float)):
            return self.embed.weight[3] * value
        if isinstance(value, str):
            return self.letters(value)
        if isinstance(value, dict):
            if not value:
                return self.embed.weight[4]
            return torch.tanh(sum([self.letters(name) * self.encode(value[name]) for name in sorted(value)], torch.zeros(3)))
        if isinstance(value, list):
            return self.linear(sum([self.encode(x) for x in value], torch.zeros(3)))
        raise TypeError(type(value).__name__)

    def forward(self, value):
        return self.encode(value)


DOCUMENTS = [
    None,
    True,
    3,
    {},
    [False, None, 2.5, "x"],
    {"name": "ann", "tags": ["a", "b"], "age": 31},
    {"user": {"id": 7, "at": {"zip": "80", "geo": [1.5, 2]}}, "ok": True},
    [[{"k": -1}, {"k": {"k": {"k": None}}}], {}],
]


class Kinds(Base):
    """Dictionaries with names that are told apart from strings and lists, and of which entries are read by name."""

    def size(self, value):
        match value:
            case dict():
                return value["size"] + (10 if isinstance(value, dict) else 20)
            case list():
                return sum(self.size(x) for x in value)
        return len(value) + (0 if type(value) is dict else 1)

    def forward(self, value):
        return self.size(value), 3 if isinstance(value, (dict, list)) else 4


KINDS = ["abc", {"size": 3}, [{"size": 1}, "ab", [{"size": 2}]]]


class Tries(Base):
    """Dictionaries in dictionaries, to any depth, and nothing else."""

    def count(self, trie):
        return 1 + sum(self.count(trie[letter]) for letter in trie)

    def depth(self, trie):
        return 1 + max((self.depth(below) for below in trie.values()), default=0)

    def forward(self, trie):
        return self.count(trie), self.depth(trie), sorted(trie)


TRIES = [{}, {"a": {}}, {"a": {"b": {}, "c": {"d": {"e": {}}}}, "f": {"g": {"a": {}}}}]


class Graphs(Base):
    """Dictionaries of which the one has names that are fixed, and those in it have other names in each instance: strings,
    lists and numbers by these, under the same names here and there."""

    def forward(self, graph):
        ops, before, weights = graph["ops"], graph["before"], graph.get("weights", {})
        states = {}
        for name in ops:
            h = self.letters(ops[name]) + sum([states[b] for b in before.get(name, [])], torch.zeros(3))
            states[name] = torch.tanh(h * weights[name] if name in weights else h)
        return states, len(before)


GRAPHS = [
    {"ops": {"a": "in"}, "before": {}},
    {"ops": {"a": "in", "b": "out"}, "before": {"b": ["a"]}},
    {"ops": {"a": "in", "b": "mul", "c": "out"}, "before": {"b": ["a"], "c": ["a", "b"]}, "weights": {"b": 2.0}},
    {"ops": {"x": "in", "y": "out"}, "before": {"y": ["x"]}, "weights": {"x": 0.5, "y": 1.5}},
]

ALL = [(Documents, DOCUMENTS), (Kinds, KINDS), (Tries, TRIES), (Graphs, GRAPHS)]


@pytest.mark.parametrize(("model", "instances"), ALL)
def test_as_eager(model, instances) -> None:
    agrees(model(), instances)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize(("model", "instances"), [(Documents, DOCUMENTS), (Graphs, GRAPHS)])
def test_natively(model, instances, codegen, tmp_path: Path) -> None:
    agrees_natively(model().eval(), instances, codegen, tmp_path)


def test_documents_that_the_sample_does_not_show(tmp_path: Path) -> None:
    model = Documents().eval()
    executable = compile(model, sample=DOCUMENTS, cache_folder=tmp_path)
    others = [{"other": [{"names": {"and": 0.5}}, [[[]]]], "more": True}, -7, [[], [True]]]
    with torch.no_grad():
        for mine, value in zip(executable(others), others, strict=True):
            assert torch.allclose(mine, model(value), atol=1e-5)
    with pytest.raises(InstanceError, match="got a value of type set"):
        executable([[{1, 2}]])
