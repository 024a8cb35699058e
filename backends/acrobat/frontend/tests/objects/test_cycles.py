"""Objects of the instance that refer to those they are inside of, as nodes of a tree with a `parent` do."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


class Node:
    def __init__(self, word, *children):
        self.word, self.children, self.parent = word, list(children), None
        for child in children:
            child.parent = self


def trees():
    return [Node(1, Node(2), Node(3, Node(0), Node(4))), Node(2), Node(0, Node(1, Node(2)))]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(5, 4)
        self.up = nn.Linear(4, 4)


class NeverRead(Model):
    def forward(self, node):
        return torch.tanh(self.up(self.embed.weight[node.word] + sum([self(c) for c in node.children], torch.zeros(4))))


class WayUp(Model):
    """The instance is a leaf: from there the way up has an end."""

    def forward(self, node):
        h = torch.zeros(4)
        while node is not None:
            h = torch.tanh(self.up(h) + self.embed.weight[node.word])
            node = node.parent
        return h


class OwnField(Model):
    """The model keeps parents in a field of its own."""

    def link(self, node):
        for child in node.children:
            child.above = node
            self.link(child)

    def collect(self, node):
        h, above = self.embed.weight[node.word], node.above
        while above is not None:
            h = h + self.up(self.embed.weight[above.word]) * len(above.children)
            above = above.above
        return [h] + [x for child in node.children for x in self.collect(child)]

    def forward(self, node):
        node.above = None
        self.link(node)
        return self.collect(node)


def test_models_that_do_not_go_round() -> None:
    agrees(NeverRead(), trees())
    agrees(OwnField(), trees())
    agrees(WayUp(), [trees()[0].children[1].children[0], trees()[1], trees()[2].children[0].children[0]])


class Siblings(Model):
    def forward(self, node):
        h = self.embed.weight[node.word]
        if node.parent is not None:
            h = h + len(node.parent.children)
        return [h] + [x for child in node.children for x in self.forward(child)]


class Ancestors(Model):
    """From the leaves to the root: what is common to the ways up of two leaves, found by `is`."""

    def leaves(self, node):
        if not node.children:
            return [node]
        return [leaf for child in node.children for leaf in self.leaves(child)]

    def way_up(self, node):
        chain = []
        while node is not None:
            chain.append(node)
            node = node.parent
        return chain

    def forward(self, root):
        found = []
        for a in self.leaves(root):
            for b in self.leaves(root):
                up, down = self.way_up(a), self.way_up(b)
                i, j = len(up) - 1, len(down) - 1
                while i > 0 and j > 0 and up[i - 1] is down[j - 1]:
                    i -= 1
                    j -= 1
                h = self.embed.weight[up[i].word]
                for node in up[:i]:
                    h = torch.tanh(self.up(h)) + self.embed.weight[node.word]
                found.append((h, [node.word for node in up[:i]], i + j, a is b))
        return found


class Inherited(Model):
    """A recursion towards the parent, whose results a dictionary remembers."""

    def state(self, node, memo):
        if node in memo:
            return memo[node]
        h = self.embed.weight[node.word]
        if node.parent is not None:
            h = torch.tanh(self.up(self.state(node.parent, memo)) + h)
        memo[node] = h
        return h

    def visit(self, node, memo, order):
        for child in node.children:
            self.visit(child, memo, order)
        order.append(self.state(node, memo))

    def forward(self, root):
        memo, order = {}, []
        self.visit(root, memo, order)
        return order, len(memo)


class Written(Model):
    """The model writes fields on nodes that know their parents."""

    def forward(self, root):
        stack, seen = [root], []
        while stack:
            node = stack.pop()
            node.h = self.embed.weight[node.word]
            if node.parent is not None:
                node.h = torch.tanh(self.up(node.parent.h)) + node.h
            seen.append(node)
            stack.extend(node.children)
        return [node.h for node in seen]


class Slotted:
    __slots__ = ("children", "parent", "word")

    def __init__(self, word, *children):
        self.word, self.children, self.parent = word, list(children), None
        for child in children:
            child.parent = self


@dataclass(eq=False)
class Known:
    word: int
    children: list[Known] = field(default_factory=list)
    parent: Known | None = None


class Annotated(Siblings):
    def forward(self, node: Known) -> list[torch.Tensor]:
        return super().forward(node)


def with_parents(cls):
    if cls is dict:
        return [as_dictionaries(tree, None) for tree in trees()]
    return [as_objects(cls, tree) for tree in trees()]


def as_objects(cls, tree):
    made = cls(tree.word)
    for child in tree.children:
        made.children.append(as_objects(cls, child))
        made.children[-1].parent = made
    return made


def as_dictionaries(tree, parent):
    made = {"word": tree.word, "parent": parent, "children": []}
    made["children"] += [as_dictionaries(child, made) for child in tree.children]
    return made


class OfDictionaries(Model):
    def forward(self, node):
        h = self.embed.weight[node["word"]]
        if node["parent"] is not None:
            h = h + self.up(self.embed.weight[node["parent"]["word"]]) * len(node["parent"]["children"])
        return [h] + [x for child in node["children"] for x in self.forward(child)]


class Link:
    """Of a list that is linked in both directions."""

    def __init__(self, word):
        self.word, self.before, self.after = word, None, None


def chains():
    lists = []
    for words in ([1], [3, 2], [0, 1, 2, 3, 4]):
        links = [Link(w) for w in words]
        for one, other in pairwise(links):
            one.after, other.before = other, one
        lists.append(links[len(links) // 2])
    return lists


class BothWays(Model):
    """The instance is a link in the middle."""

    def forward(self, link):
        while link.before is not None:
            link = link.before
        h, words = torch.zeros(4), []
        while link is not None:
            around = [x.word for x in (link.before, link.after) if x is not None]
            h = torch.tanh(self.up(h) + self.embed.weight[link.word]) + sum(around)
            words.append(link.word)
            link = link.after
        return h, words


class Place:
    """Of a graph with circles."""

    def __init__(self, name, word):
        self.name, self.word, self.near = name, word, []


class Graph:
    def __init__(self, words, edges):
        self.places = [Place(f"p{i}", w) for i, w in enumerate(words)]
        for i, j in edges:
            self.places[i].near.append(self.places[j])


def graphs():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    return [Graph([1, 2, 3, 4], ring), Graph([2], [(0, 0)]), Graph([1, 1, 0], [(0, 1), (1, 0), (2, 1)])]


class Rounds(Model):
    """Messages along the edges of a graph, and a walk that stops where it was before."""

    def forward(self, graph):
        h = {place: self.embed.weight[place.word] for place in graph.places}
        for _ in range(2):
            h = {p: torch.tanh(h[p] + sum([self.up(h[q]) for q in p.near], torch.zeros(4))) for p in graph.places}
        walk, place = [], graph.places[0]
        while place.near and place.name not in walk:
            walk.append(place.name)
            place = place.near[-1]
        return [h[p] for p in graph.places], walk


ALL = [
    (Siblings, trees()),
    (Ancestors, trees()),
    (Inherited, trees()),
    (Written, trees()),
    (Siblings, with_parents(Slotted)),
    (Siblings, with_parents(Known)),
    (Annotated, with_parents(Known)),
    (OfDictionaries, with_parents(dict)),
    (BothWays, chains()),
    (Rounds, graphs()),
    (Siblings, [trees()[0].children[1], trees()[1]]),
]


@pytest.mark.parametrize(("cls", "sample"), ALL, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(cls, sample) -> None:
    agrees(cls(), sample)


@pytest.mark.parametrize(("cls", "sample"), [ALL[1], ALL[2], ALL[4], ALL[7], ALL[9]], ids=lambda x: getattr(x, "__name__", ""))
def test_natively(cls, sample, codegen, tmp_path: Path) -> None:
    agrees_natively(cls(), sample, codegen, tmp_path)


class GivenOut(Siblings):
    def forward(self, node):
        return self.embed.weight[node.word], [child.parent for child in node.children], {"last": node.children[-1:]}


def test_results_have_the_objects_of_the_instance(codegen, tmp_path: Path) -> None:
    instances, model = trees(), GivenOut().eval()
    executable = compile(model, sample=instances, options=Options(codegen=codegen), checked=True, cache_folder=tmp_path)
    interpreter = Interpreter(build(model, sample=instances))
    for instance, mine in zip(instances, executable(instances), strict=True):
        for h, parents, last in (mine, interpreter.run(instance), model(instance)):
            assert torch.allclose(torch.as_tensor(h).float(), model.embed.weight[instance.word])
            assert len(parents) == len(instance.children)
            assert all(p is instance for p in parents)
            assert all(a is b for a, b in zip(last["last"], instance.children[-1:], strict=True))


@dataclass
class Compared:
    word: int
    children: list = field(default_factory=list)
    parent: Any = None


class ComparesNodes(Model):
    def forward(self, node):
        return [child.parent == child for child in node.children]


class MakesOthers(Model):
    def forward(self, node):
        other = Known(3)
        return [child.parent.word + other.word for child in [*node.children, other]]


@pytest.mark.parametrize(
    ("cls", "sample", "message"),
    [
        (ComparesNodes, with_parents(Compared), "is compared field by field, and its fields lead back to it"),
        (MakesOthers, with_parents(Known), "this makes a new one"),
    ],
)
def test_refused(cls, sample, message) -> None:
    with pytest.raises(CompileError, match=message):
        build(cls(), sample=sample)


def test_an_instance_that_leads_back_where_the_sample_does_not(tmp_path: Path) -> None:
    sample = [Node(1, Node(3)), Node(2)]
    sample[0].children[0].parent = Node(0)
    executable = compile(Siblings().eval(), sample=sample, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="contains itself"):
        executable([trees()[0]])
