"""Lists of tensors of one rank and several shapes: they are appended to, changed, carried by loops, and given to functions, and
their elements keep the shapes that they have as long as these are known."""

# mypy: ignore-errors
# ruff: noqa: B905 - as users write `zip`
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.core.types import ListT
from backends.acrobat.ir.nodes import Var
from backends.acrobat.ir.visitor import walk
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.down = nn.ModuleList([nn.Linear(4, 6), nn.Linear(6, 8), nn.Linear(8, 5)])
        self.up = nn.ModuleList([nn.Linear(5 + 8, 8), nn.Linear(8 + 6, 6), nn.Linear(6 + 4, 4)])
        self.heads = nn.ModuleList([nn.Linear(6, 3), nn.Linear(8, 3), nn.Linear(5, 3)])
        self.gru = nn.GRU(5, 3, batch_first=True)

    def appended(self, x):
        levels = []
        for layer in self.down:
            x = torch.relu(layer(x))
            levels.append(x)
        return levels

    def written(self, x):
        a = torch.relu(self.down[0](x))
        b = torch.relu(self.down[1](a))
        return [a, b, torch.relu(self.down[2](b))]

    def initial(self):
        return [torch.zeros(layer.out_features) for layer in self.down]

    def step(self, x, state):
        states = []
        for layer, before in zip(self.down, state["levels"]):
            x = torch.tanh(layer(x) + before)
            states.append(x)
        y, h = self.gru(x.view(1, 1, -1), state["gru"])
        return y[0, 0], {"levels": states, "gru": h, "steps": state["steps"] + 1}


VECTORS = [torch.randn(4, generator=torch.Generator().manual_seed(i)) for i in range(6)]
SEQUENCES = [[VECTORS[(i + n) % 6] for i in range(n)] for n in (1, 2, 4)]


def walked(self, levels, x):
    return torch.stack([v.sum() for v in levels]), len(levels), levels[-1], [v.sum() for v in reversed(levels)], levels[1:][0]


def zipped(self, levels, x):
    return torch.stack([head(v) for head, v in zip(self.heads, levels)]), torch.cat(levels, -1)


def chosen_at_run_time(self, levels, x):
    return levels[int(x[0] > 0)].sum()


def grows(self, levels, x):
    for i in range(int(x[0] > 0) + 1):
        levels.append(x * i)
    return sum(v.sum() for v in levels), levels[-1]


def grows_on_one_path(self, levels, x):
    if x[0] > 0:
        levels.append(x)
    return sum(v.sum() for v in levels), len(levels)


def changed(self, levels, x):
    levels.extend([x, x * 2])
    levels.insert(0, x + 1)
    levels[1] = levels[1] * 2
    levels[-1] = torch.cat([x, x])
    first = levels.pop(0)
    last = levels.pop()
    return levels, first, last, levels[0], sum(v.sum() for v in [*levels, x])


def emptied(self, levels, x):
    total = x.sum()
    while levels:
        x = levels.pop()
        total = total + x.sum()
    return x, total


def halved(self, levels, x):
    for _ in range(int(x[0] > 0) + 2):
        levels = [v * 0.5 for v in levels]
    return levels


def in_a_dictionary(self, levels, x):
    return {"levels": levels, "count": len(levels)}


USES = [walked, zipped, chosen_at_run_time, grows, grows_on_one_path, changed, emptied, halved, in_a_dictionary]


@pytest.mark.parametrize("make", [Levels.appended, Levels.written], ids=["appended", "written"])
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_what_is_done_with_such_a_list(use, make):
    agrees(with_forward(Levels(), lambda self, x: use(self, make(self, x), x)), VECTORS)


def own_list(self, x):
    levels = self.written(x)
    levels.append(x)
    more = [x, torch.cat([x, x])]
    more.append(levels.pop(0))
    return levels, more, more[2]


def skips(self, x):
    before = []
    for layer in self.down:
        before.append(x)
        x = torch.relu(layer(x))
    for layer in self.up:
        x = layer(torch.cat([x, before.pop()], -1))
    return x, self.decoded(self.appended(x), x)


def decoded(self, levels, x):
    y = levels[-1]
    for layer, level in zip(self.up, [levels[1], levels[0], x]):
        y = layer(torch.cat([y, level], -1))
    return y


def test_shapes_are_kept():
    """Through functions, and where items are taken out: no extent varies in the program."""
    agrees(with_forward(Levels(), own_list), VECTORS)
    Levels.decoded = decoded
    program = agrees(with_forward(Levels(), skips), VECTORS)
    variables = [x for f in program.functions.values() for x in walk(f.body) if isinstance(x, Var)]
    assert not any(isinstance(v.type, ListT) and v.type.rows is not None for v in variables)


def carried(self, xs):
    state = self.initial()
    for x in xs:
        new = []
        for layer, before in zip(self.down, state):
            x = torch.tanh(layer(x) + before)
            new.append(x)
        state = new
    return x, state


def carried_from_appended(self, xs):
    state = []
    for layer in self.down:
        state.append(torch.zeros(layer.out_features))
    for x in xs:
        for i, layer in enumerate(self.down):
            x = torch.tanh(layer(x) + state[i])
            state[i] = x
    return x, state


def carried_in_a_dictionary(self, xs):
    state = {"levels": self.initial(), "gru": None, "steps": 0}
    outputs = []
    for x in xs:
        if x.sum() > 4.0:
            continue
        y, state = self.step(x, state)
        outputs.append(y)
    return outputs, state["steps"], state["levels"][0]


def given_back_in_a_dictionary(self, xs):
    state = {"levels": self.initial(), "gru": None, "steps": 0}
    for x in xs:
        _, state = self.step(x, state)
    return state["gru"], {"levels": state["levels"]}


CARRIED = [carried, carried_from_appended, carried_in_a_dictionary, given_back_in_a_dictionary]


@pytest.mark.parametrize("forward", CARRIED, ids=lambda f: f.__name__)
def test_what_loops_carry(forward):
    agrees(with_forward(Levels(), forward), SEQUENCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_generated_code(codegen, tmp_path):
    agrees_natively(with_forward(Levels(), carried_in_a_dictionary), SEQUENCES, codegen, tmp_path)


class Pair:
    def __init__(self, maps, level):
        self.maps, self.level = maps, level


def in_an_object(self, xs):
    pair = Pair(self.initial(), 0)
    for x in xs:
        pair = Pair(self.appended(x), pair.level + 1)
    return torch.cat(pair.maps), pair.level


def one_of_two_functions(self, xs):
    levels = self.written(xs[0]) if len(xs) > 1 else self.appended(xs[0])
    if len(xs) > 2:
        levels = [xs[0], xs[1]]
    return levels, sum(v.sum() for v in levels)


def none_at_first(self, xs):
    levels = None
    for x in xs:
        now = self.appended(x)
        if levels is not None:
            now = [a + b for a, b in zip(now, levels)]
        levels = now
    return levels


@pytest.mark.parametrize("forward", [in_an_object, one_of_two_functions, none_at_first], ids=lambda f: f.__name__)
def test_in_objects_and_branches(forward):
    agrees(with_forward(Levels(), forward), SEQUENCES)
