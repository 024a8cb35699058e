"""Fields that a model writes on objects of the instance, as many TreeLSTMs do: `node.h = ...`, then `child.h`. Each function
is compared with eager PyTorch in the interpreter, which runs first: eager leaves the fields on the objects, the program does
not."""

from __future__ import annotations

import random
from copy import deepcopy

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same


class Node:
    def __init__(self, word, children):
        self.word = word
        self.children = children
        self.h = None
        self.visited = False

    def keep(self, state):
        self.state = state


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.w = nn.Linear(4, 4)
        self.u = nn.Linear(4, 4)

    def encode(self, node):
        for child in node.children:
            self.encode(child)
        x = self.embedding(torch.tensor([node.word]))
        if node.children:
            x = x + torch.cat([self.w(child.h) for child in node.children]).sum(0, keepdim=True)
        node.h = torch.tanh(x)

    def bottom_up(self, root):
        self.encode(root)
        return self.u(root.h)

    def spread(self, node, above):
        node.d = torch.tanh(self.u(above) + node.h)
        for child in node.children:
            self.spread(child, node.d)

    def collect(self, node):
        return [node.d] + [d for child in node.children for d in self.collect(child)]

    def top_down(self, root):
        self.encode(root)
        self.spread(root, root.h)
        return torch.cat(self.collect(root))

    def pair(self, node):
        states = [self.pair(child) for child in node.children]
        node.keep((self.embedding.weight[node.word], self.w.bias))
        if states:
            hs, cs = zip(*map(lambda child: child.state, node.children))  # noqa: B905, C417
            node.keep((torch.stack(hs).sum(0), torch.stack(cs).sum(0)))
        return node.state

    def size(self, node):
        if getattr(node, "_size", None):
            return node._size
        node._size = 1
        for child in node.children:
            node._size += self.size(child)
        return node._size

    def sizes(self, root):
        return self.w.bias * self.size(root) + self.size(root)

    def recall(self, node):
        if node.h is not None:
            return node.h
        h = self.embedding.weight[node.word]
        for child in node.children:
            h = h + self.w(self.recall(child))
        node.h = h
        return h

    def recalled_in_branches(self, root):
        first = self.recall(root.children[0]) if root.children else self.w.bias
        return first + self.recall(root), [c.h for c in root.children if c.word > 3]

    def marked(self, root):
        total, todo = 0, [root, root]
        while todo:
            node = todo.pop()
            if not node.visited:
                node.visited = True
                total += node.word
                for child in node.children:
                    todo.append(child)  # noqa: PERF402
        return total, root.visited

    def twice(self, node):
        node.h = self.embedding.weight[node.word] * 2
        return node.h

    def written_in_comprehensions(self, root):
        chosen = [self.twice(child) for child in root.children if child.word > 3]
        every = list(map(self.twice, root.children))
        get = lambda node: node.h  # noqa: E731
        root.h = self.w.bias
        before = get(root)
        root.h = before + 1
        return chosen, every, before + get(root), sum((c.h for c in root.children), torch.zeros(4))

    def cleared(self, root):
        """Fields to which only None is written, one of which the instance has values in."""
        for child in root.children:
            child.above = None
            child.visited = None
        root.scores = None
        root.word = None if root.children else 3
        seen = [child.visited is None and child.above is None for child in root.children]
        return seen, root.visited is None, root.word, root.scores is None

    def cleared_first(self, root):
        for child in root.children:
            child.score = child.rank = None
        above = root.children[0] if root.children else root
        above.rank = 2
        for child in root.children:
            child.rank = 1 if above.rank is None else above.rank + 1
            if child.score is None:
                child.score = self.w.bias
        return [child.rank for child in root.children], [child.score for child in root.children]

    def given_out(self, root):
        root.h = self.w.bias
        return root

    def missing(self, root):
        if root.word > 3:
            root.h = self.w.bias
        return root.h + 1


def tree(rng: random.Random, depth: int) -> Node:
    return Node(rng.randrange(9), [tree(rng, depth - 1) for _ in range(rng.randint(0, 3) if depth else 0)])


@pytest.fixture
def trees() -> list[Node]:
    rng = random.Random(8)
    return [tree(rng, 3) for _ in range(8)]


def model(name: str) -> Model:
    torch.manual_seed(0)
    made = Model().eval()
    made.forward = getattr(made, name)
    return made


FUNCTIONS = [
    "bottom_up",
    "top_down",
    "pair",
    "sizes",
    "recalled_in_branches",
    "marked",
    "written_in_comprehensions",
    "cleared",
    "cleared_first",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_eager_pytorch(name: str, trees: list[Node]) -> None:
    made = model(name)
    program = build(made, sample=deepcopy(trees))
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        for root in trees:
            result = as_tensors(interpreter.run(root))
            assert root.h is None
            assert_same(result, made.forward(root), name)


def test_what_nothing_was_written_to_is_as_in_the_instance(trees: list[Node]) -> None:
    made = model("missing")
    interpreter = Interpreter(build(made, sample=deepcopy(trees)))
    assert {root.word > 3 for root in trees} == {True, False}
    for root in trees:
        if root.word > 3:
            assert_same(as_tensors(interpreter.run(root)), made.forward(deepcopy(root)), "")
        else:
            with pytest.raises(InstanceError, match="`h` is None here: it is read before it was assigned"):
                interpreter.run(root)


def test_objects_whose_fields_are_written_are_no_result(trees: list[Node]) -> None:
    with pytest.raises(CompileError, match="the result has objects in it whose fields the model assigns to: Node"):
        build(model("given_out"), sample=trees)
