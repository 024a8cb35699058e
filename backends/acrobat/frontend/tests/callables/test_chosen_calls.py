"""Calls of functions that are chosen at run time, or by a name that the source puts together, and that change lists,
dictionaries or attributes; of chosen modules that take inputs of other shapes; and look-ups in a `defaultdict` that enter keys.
Against eager PyTorch."""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, seen):
        seen.append(self.linear(x))
        return x + 1


class Remembering(nn.Module):
    h: Any

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        self.h = torch.tanh(self.linear(x) + self.h)
        return self.h


class OneOfTwo(nn.Module):
    """The modules that are chosen append to a list of the caller, or keep their state."""

    def __init__(self):
        super().__init__()
        self.one, self.other = Writer(), Writer()
        self.cells = nn.ModuleList([Remembering(), Remembering()])

    def forward(self, instance):
        choices, x = instance
        seen: list[Any] = []
        for cell in self.cells:
            cell.h = torch.zeros(3)
        for i in choices:
            writer = self.one if i > 0 else self.other
            x = writer(x, seen)
            x = x + self.cells[i](x)
        return x, torch.stack(seen), len(seen)


class Dot:
    def __init__(self, x):
        self.x = x

    def emit(self, model, out):
        out.append(model.linear(self.x))


class Line:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def emit(self, model, out):
        out.append(model.linear(self.y))
        out.append(self.x)


class Drawing(nn.Module):
    """A method that each class has changes a list that it is given, and gives nothing."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, shapes):
        out: list[Any] = []
        for shape in shapes:
            shape.emit(self, out)
        return torch.stack(out), len(out)


class Name:
    def __init__(self, name):
        self.name = name


class Let:
    def __init__(self, name, value):
        self.name = name
        self.value = value


class Block:
    def __init__(self, body):
        self.body = body


class Visitor(nn.Module):
    """A visitor whose methods change an environment; only some do, and which is known by the name's beginning alone."""

    def __init__(self):
        super().__init__()
        self.unknown = nn.Embedding(4, 3)
        self.cell = nn.GRUCell(3, 3)

    def visit(self, node, env):
        method = getattr(self, "visit_" + type(node).__name__)
        return method(node, env)

    def visit_Name(self, node, env):
        return env[node.name] if node.name in env else self.unknown.weight[node.name]

    def visit_Let(self, node, env):
        value = self.visit(node.value, env)
        env[node.name] = self.cell(value, self.unknown.weight[node.name])
        return value

    def visit_Block(self, node, env):
        inner, h = dict(env), torch.zeros(3)
        for statement in node.body:
            h = self.cell(self.visit(statement, inner), h)
        return h

    def forward(self, statements):
        env: dict[int, Any] = {}
        h = torch.zeros(3)
        for statement in statements:
            h = self.cell(self.visit(statement, env), h)
        return h, len(env)


class Grouped(nn.Module):
    """A `defaultdict` that is asked for keys, and looked up, in branches and loops."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, instance):
        pairs, x = instance
        incoming: Any = defaultdict(list)
        for a, b in pairs:
            incoming[a].append(b)
        total = torch.zeros(3)
        for i in range(len(x)):
            if i in incoming:
                total = total + torch.stack([self.linear(x[j]) for j in incoming[i]]).sum(0)
            if i > 1:
                total = total + len(incoming[i])  # this enters the key
        return total, len(incoming)


def choices(r):
    return [r.randrange(2) for _ in range(r.randint(1, 4))], torch.randn(3)


def shapes(r):
    return [Dot(torch.randn(3)) if r.random() < 0.5 else Line(torch.randn(3), torch.randn(3)) for _ in range(r.randint(1, 4))]


def statements(r, depth=2):
    if depth and r.random() < 0.5:
        return [Block(statements(r, depth - 1)), *statements(r, depth - 1)]
    lets = [Let(r.randrange(4), r.choice([Name, lambda n: Block([Name(n)])])(r.randrange(4))) for _ in range(r.randint(1, 3))]
    return [*lets, Name(r.randrange(4))]


def pairs(r):
    size = r.randint(1, 4)
    return [(r.randrange(size), r.randrange(size)) for _ in range(r.randint(1, 5))], torch.randn(size, 3)


@pytest.mark.parametrize(("model", "draw"), [(OneOfTwo, choices), (Drawing, shapes), (Visitor, statements), (Grouped, pairs)])
def test_agrees_with_eager(model, draw):
    torch.manual_seed(2)
    r = Random(3)
    module, instances = model(), [draw(r) for _ in range(16)]
    agrees(module, instances)


def test_the_name_of_a_function_that_is_chosen_at_run_time() -> None:
    def forward(self, n: int):
        return VISITS[n % 2].__name__, torch.ones(2)

    agrees(with_forward(nn.Module(), forward), [1, 2, 3])


def visit_one(x):
    return x


def visit_two(x):
    return x + 1


VISITS = [visit_one, visit_two]


class Kind(Enum):
    WORKER = "worker"
    SOLDIER = "soldier"
    BASE = "base"


@dataclass
class Entity:
    kind: Kind
    load: float
    queue: list = field(default_factory=list)


class ByKind(nn.Module):
    """A module is chosen by a field before tests of the field tell which one it is."""

    def __init__(self):
        super().__init__()
        sizes = {"worker": nn.Linear(4, 3), "soldier": nn.Linear(3, 3), "base": nn.GRU(3, 3, batch_first=True)}
        self.kinds = nn.ModuleDict(sizes)
        self.first = nn.Linear(1, 3)

    def encode(self, e):
        x = self.first(torch.tensor([e.load]))
        net = self.kinds[e.kind.value]
        if e.kind is Kind.WORKER:
            return net(torch.cat([x, torch.tensor([e.load])]))
        if e.kind is Kind.BASE:
            if not e.queue:
                return x
            return net(torch.eye(3)[e.queue][None])[1][0, 0]
        return net(x)

    def forward(self, entities):
        return torch.stack([self.encode(e) for e in entities])


class Layers(nn.Module):
    """Layers that take inputs of other extents, each called by its name with what the instance has for it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"narrow": nn.Linear(3, 2), "wide": nn.Linear(6, 2), "both": nn.Bilinear(3, 3, 2)})

    def forward(self, given):
        name, x = given
        if name != "narrow":
            return self.layers["wide"](torch.cat([x, x]))
        return self.layers[name](x)


class Steps(Layers):
    def forward(self, given):
        name, x = given
        for _ in range(2):
            x = torch.cat([self.layers[name](x), x[:1]])
        return x


def test_a_field_tells_which_module_it_has_chosen_before(codegen: str, tmp_path: Path) -> None:
    r = Random(4)
    kinds = [*Kind]
    instances = [
        [Entity(r.choice(kinds), r.random(), [r.randrange(3) for _ in range(r.randrange(3))]) for _ in range(r.randint(1, 5))]
        for _ in range(16)
    ]
    torch.manual_seed(0)
    model = ByKind().eval()
    agrees(model, instances)
    agrees_natively(model, instances, codegen, tmp_path)


def test_a_layer_that_does_not_take_the_extent_is_an_error_of_the_instance() -> None:
    torch.manual_seed(0)
    agrees(Layers(), [("narrow", torch.randn(3)), ("wide", torch.randn(3))])
    program = agrees(Steps(), [("narrow", torch.randn(3)), ("narrow", torch.randn(3))])
    with pytest.raises(InstanceError, match=r"RuntimeError: linear: an input of shape \(3,\) does not fit"):
        Interpreter(program).run(("wide", torch.randn(3)))
    with pytest.raises(InstanceError, match="TypeError"):
        Interpreter(program).run(("both", torch.randn(3)))
