"""`graphlib.TopologicalSorter`, in place of which there is a class of the library."""

# mypy: ignore-errors
from __future__ import annotations

import graphlib
import random
from graphlib import TopologicalSorter

import pytest
import torch
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.library import graph_orders
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, with_forward

GRAPHS = [{"a": ["b", "c"], "b": ["c"], "c": [], "d": ["a"]}, {"x": []}, {"q": ["r", "s"], "z": ["q", "r", "r"]}]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.start = nn.Linear(3, 3), nn.Parameter(torch.randn(3))


def in_order(self, graph):
    return list(TopologicalSorter(graph).static_order())


def computed(self, graph):
    states = {}
    for name in TopologicalSorter(graph).static_order():
        states[name] = torch.tanh(self.layer(sum((states[x] for x in graph.get(name, [])), self.start)))
    return states


def in_waves(self, graph):
    sorter = graphlib.TopologicalSorter()
    for name, before in graph.items():
        sorter.add(name, *before)
    sorter.prepare()
    waves = []
    while sorter.is_active():
        ready = sorter.get_ready()
        waves.append(sorted(ready))
        for name in ready:
            sorter.done(name)
    return waves


def while_active(self, graph):
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    found = []
    while sorter:
        ready = sorter.get_ready()
        found.extend(ready)
        sorter.done(*ready)
    return found


@pytest.mark.parametrize("forward", [in_order, computed, in_waves, while_active])
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), GRAPHS)


def test_the_library_class():
    for seed in range(200):
        rng = random.Random(seed)
        names = rng.sample(range(20), rng.randint(1, 12))
        graph = {n: rng.sample(names[:i], rng.randint(0, min(i, 4))) for i, n in enumerate(names) if rng.random() < 0.8}
        assert list(graph_orders.TopologicalSorter(graph).static_order()) == list(TopologicalSorter(graph).static_order())


def test_circles(tmp_path):
    executable = compile(with_forward(Model(), in_order), sample=GRAPHS, options=Options(codegen="vm"), cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="cycle"):
        executable([{"a": ["b"], "b": ["a"]}])
