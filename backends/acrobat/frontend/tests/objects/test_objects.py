"""Objects of ordinary classes that the model makes, heaps, methods of lists, comparisons of tuples: as in eager Python."""

from __future__ import annotations

import dataclasses
import heapq
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.library import heaps
from backends.acrobat.tests.zoo.check import agrees, as_tensors, assert_same

HEAD = """
import heapq
import operator

import torch
import torch.nn as nn


class State:
    limit = 3

    def __init__(self, h, words=None, cost=0.0):
        \"\"\"What was read so far.\"\"\"
        self.h = h
        self.words = [0] if words is None else words
        self.cost: float = cost
        self.mean = self.cost / len(self.words)

    def read(self, h, word):
        return State(h, [*self.words, word], cost=self.cost + word)

    @property
    def done(self):
        return len(self.words) > self.limit


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)

"""

MODELS = {
    "objects": """
    def forward(self, s):
        state = State(s["x"])
        for word in s["words"]:
            if state.done:
                break
            state = state.read(torch.tanh(self.lin(state.h)), word)
        return state.h, state.words, state.mean, state.done
""",
    "objects in lists": """
    def forward(self, s):
        states = [State(s["x"], [k], k * 0.5) for k in s["words"]]
        states.sort(key=lambda state: state.cost, reverse=True)
        best = max(states, key=operator.attrgetter("mean"))
        return [state.cost for state in states], best.words
""",
    "an object as the result": """
    def forward(self, s):
        return [State(self.lin(s["x"]), cost=float(k)) for k in s["words"]]
""",
    "a heap": """
    def forward(self, s):
        heap, order = [], []
        for i, k in enumerate(s["words"]):
            heapq.heappush(heap, (k % 5, -i, s["x"] * k))
            if len(heap) > 4:
                order.append(heapq.heappop(heap)[0])
        rest = heap.copy()
        total = torch.zeros(4)
        while heap:
            _, i, x = heapq.heappop(heap)
            order.append(i)
            total = self.lin(total + x)
        return order, [k for k, _, _ in rest], total
""",
    "heapify": """
    def forward(self, s):
        queue = list(s["words"])
        heapq.heapify(queue)
        heapq.heappush(queue, 7)
        return queue
""",
    "methods of lists": """
    def forward(self, s):
        words = list(s["words"])
        words.sort()
        first = words[0]
        words.remove(first)
        return words, words.count(2), words.index(words[-1]), self.lin(s["x"])
""",
    "a comprehension that changes a list": """
    def forward(self, s):
        queue = list(s["words"])
        i = 7
        taken = [queue.pop(0) + i for i in range(2)]
        seen = set()
        new = [self.first(k, seen) for k in s["words"]]
        return taken, queue, i, new, len(seen)

    def first(self, k, seen):
        if k in seen:
            return False
        seen.add(k)
        return True
""",
    "tuples in order": """
    def forward(self, s):
        n, k = s["words"][0], s["words"][1]
        pair = (n, k)
        return pair < (2, 3), pair <= (n, k), pair > (n, 1), (n, k, s["x"]) >= (k, n + 1, s["x"]), (n,) < (n, k)
""",
}


def instances() -> list[dict]:
    rng = random.Random(0)
    generator = torch.Generator().manual_seed(1)
    sizes = (2, 5, 9, 12, 3)
    words = [[rng.randrange(9) for _ in range(n)] for n in sizes]
    words[4] = [3, 2, 8]
    return [{"x": torch.randn(4, generator=generator), "words": w} for w in words]


@pytest.mark.parametrize("name", MODELS)
def test_interpreter(name: str, tmp_path: Path) -> None:
    module = load(tmp_path, HEAD + MODELS[name], f"objects_{name.replace(' ', '_')}").Model().eval()
    program = build(module, sample=instances())
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        for instance in instances():
            got, want = interpreter.run(instance), module(instance)
            if name == "an object as the result":
                assert [type(o) for o in got] == [type(o) for o in want]
                got, want = [vars(o) for o in got], [vars(o) for o in want]
            assert_same(as_tensors(got), want, name)


REFUSED = {
    "words = s['words']\n        words.sort()": "changes a list that may be seen under another name",
    "heap = s['words']\n        heapq.heappop(heap)": "changes a list that may be seen under another name",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str, tmp_path: Path) -> None:
    source = f"    def forward(self, s):\n        {body}\n        return self.lin(s['x'])\n"
    module = load(tmp_path, HEAD + source, f"objects_refused_{len(body)}").Model().eval()
    with pytest.raises(CompileError, match=REFUSED[body]):
        build(module, sample=instances())


def test_tuples_without_an_order_are_an_error_of_the_instance(tmp_path: Path) -> None:
    source = "    def forward(self, s):\n        return (s['words'][0], s['x']) < (s['words'][1], s['x'])\n"
    program = build(load(tmp_path, HEAD + source, "objects_no_order").Model().eval(), sample=instances())
    x = torch.zeros(4)
    assert Interpreter(program).run({"x": x, "words": [1, 2]}) is True
    with pytest.raises(InstanceError, match="TypeError: the tuples that are compared agree"):
        Interpreter(program).run({"x": x, "words": [1, 1]})


PATTERNS = """
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Circle:
    radius: float


@dataclass
class Box:
    width: int
    x: torch.Tensor


@dataclass
class Point:
    pass


class Model(nn.Module):
    def forward(self, shapes):
        h = torch.zeros(4)
        for shape in shapes:
            match shape:
                case Circle(radius=r):
                    h = h + r
                case Box(1 | 2 as w, x) if w > 1:
                    h = h + x
                case Box(w):
                    h = h * w
                case _:
                    h = -h
        return h
"""


def test_patterns_name_fields_that_nothing_else_reads(tmp_path: Path) -> None:
    module = load(tmp_path, PATTERNS, "objects_patterns")
    shapes = [module.Circle(0.5), module.Box(2, torch.ones(4)), module.Point(), module.Box(3, torch.ones(4))]
    agrees(module.Model(), [shapes], [shapes, shapes[::-1], [], shapes[:1]])


SHARED = """
import torch
import torch.nn as nn


class Node:
    def __init__(self, word, below):
        self.word, self.below = word, below


def ladder(levels):
    node = Node(0, [])
    for k in range(levels):
        node = Node(k % 3, [node, node])
    return node


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)

    def state(self, node, memo, order):
        if id(node) not in memo:
            h = torch.zeros(4) + node.word
            for other in node.below:
                h = h + self.state(other, memo, order)
            order.append(node.word)
            memo[id(node)] = torch.tanh(self.lin(h))
        return memo[id(node)]

    def forward(self, node):
        order = []
        return self.state(node, {}, order), order
"""


def test_shared_nodes_are_computed_once(tmp_path: Path) -> None:
    """Each level of the graph uses the level below twice. Nodes are computed in the order of eager Python."""
    module = load(tmp_path, SHARED, "objects_shared")
    agrees(module.Model(), [*map(module.ladder, (2, 0))], [*map(module.ladder, (0, 3, 40))])


def test_the_library_s_heaps_are_python_s() -> None:
    rng = random.Random(0)
    for _ in range(200):
        mine: list[int] = [rng.randrange(6) for _ in range(rng.randrange(9))]
        theirs = list(mine)
        mine = heaps.heapified(mine)
        heapq.heapify(theirs)
        for _ in range(12):
            if theirs and rng.random() < 0.5:
                least, mine = heaps.popped(mine)
                assert least == heapq.heappop(theirs)
            else:
                k = rng.randrange(6)
                mine = heaps.pushed(mine, k)
                heapq.heappush(theirs, k)
            assert mine == theirs


@dataclasses.dataclass
class Triple:
    a: int
    b: int
    c: int


class OfTheSample(nn.Module):
    """Makes objects of a class of the sample, whose fields it reads in another order than the class, or not at all."""

    def forward(self, s: Any) -> Any:
        first = s.c * 10 + s.b
        made = Triple(7, 8, first)
        return made.b, made.c, made, dataclasses.replace(s, c=4)


class Equal(nn.Module):
    """Trees of a dataclass, and dictionaries, are equal field by field."""

    def forward(self, s: Any) -> Any:
        return s["one"] == s["two"], s["one"] != s["two"], s["first"] == s["second"]


@dataclasses.dataclass
class Twig:
    n: int
    left: Twig | None = None
    right: Twig | None = None


def test_objects_that_are_made_have_their_fields_in_place() -> None:
    """They had each other's values where the program reads the fields in another order than that of the class."""
    agrees(OfTheSample(), [Triple(1, 2, 3), Triple(5, 5, 0)])


def test_dataclasses_and_dictionaries_are_compared_by_their_fields() -> None:
    ones = [Twig(1, Twig(2), Twig(3)), Twig(1, Twig(2)), Twig(0)]
    twos = [Twig(1, Twig(2), Twig(3)), Twig(1, None, Twig(2)), Twig(0)]
    maps = [{"x": 1, "y": 2}, {"x": 1, "y": 3}, {"x": 0, "y": 3}]
    agrees(Equal(), [{"one": a, "two": b, "first": c, "second": maps[0]} for a, b, c in zip(ones, twos, maps, strict=True)])
