"""Objects of the instance that refer to those they are inside of, as nodes of a tree with a `parent` do."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


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


def test_a_field_that_leads_back_is_named_at_its_line() -> None:
    with pytest.raises(CompileError, match=r"`parent` of a `Node` of the sample leads back .*, by `children`") as error:
        build(Siblings(), sample=trees())
    assert "node.parent is not None" in str(error.value)


def test_an_instance_that_leads_back_where_the_sample_does_not(tmp_path: Path) -> None:
    sample = [Node(1, Node(3)), Node(2)]
    sample[0].children[0].parent = Node(0)
    executable = compile(Siblings().eval(), sample=sample, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="contains itself"):
        executable([trees()[0]])
