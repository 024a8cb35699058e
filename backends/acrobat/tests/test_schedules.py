"""The launches of mini-batches, compared with schedules that were worked out by hand from the depth rule: depth follows data
dependence; the elements of a list have one depth; a phase starts when all instances have recorded the one before.

A batch is all rows of one unit at one depth, so the rule gives the number of batches. A static block launches each of its
kernels once for a batch.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.core.units import Block, Kernel, Mode
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Launch, Program, Weight
from backends.acrobat.ir.visitor import walk
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests.models import RecursiveBiRNN
from backends.acrobat.tests.support import MOST, assert_same, comb, draw, eager, tiny
from workloads.mvrnn import model as mvrnn
from workloads.treelstm import model as treelstm

SENTENCES = [[1, 2, 3], [4], [], [5, 6, 7, 8, 9], [10, 11, 12], [13, 14]]


def optimised(name: str, **switches: Any) -> Program:
    return optimise(build(tiny(name)), Options(**switches))


def launches(program: Program) -> list[Launch]:
    return [node for f in program.functions.values() for node in walk(f.body) if isinstance(node, Launch)]


def kernels(unit: Kernel | Block) -> list[Kernel]:
    return [step.kernel for step in unit.steps] if isinstance(unit, Block) else [unit]


def modes(launch: Launch) -> dict[str, Mode]:
    return {p.name: p.mode for p in launch.unit.params}


def launch_with(program: Program, op: str) -> list[Launch]:
    return [x for x in launches(program) if any(i.op == op for k in kernels(x.unit) for i in k.body)]


def by_depth(schedule: list[tuple[int, int, str, int]], phase: int = 0) -> dict[int, list[int]]:
    """Depth -> the rows of its launches."""
    rows = defaultdict(list)
    for p, depth, _, n in schedule:
        if p == phase:
            rows[depth].append(n)
    return dict(rows)


class TestBiRNN:
    def test_two_cells_a_step_and_one_classifier(self, built: Any) -> None:
        executable = built("birnn")
        schedule = executable.schedule(SENTENCES)
        alive = [sum(len(s) > t for s in SENTENCES) for t in range(5)]
        assert by_depth(schedule) == {t: [n, n] for t, n in enumerate(alive)}
        # The classifier is one block of two kernels, the product and the argmax: one batch, over every word.
        words = sum(map(len, SENTENCES))
        assert [rows for phase, _, _, rows in schedule if phase == 1] == [words, words]
        assert executable.counters()["batches"] == 2 * 5 + 1
        assert executable.counters()["launches"] == 2 * 5 + 2
        assert executable.counters()["executions"] == 1

    def test_without_phases_one_classifier_for_each_length(self, built: Any) -> None:
        executable = built("birnn", options=Options(phases=False))
        schedule = executable.schedule(SENTENCES)
        assert {phase for phase, *_ in schedule} == {0}
        classified = {depth: rows for _, depth, kernel, rows in schedule if "argmax" in kernel}
        assert classified == {1: 1, 2: 2, 3: 2 * 3, 5: 5}  # the depth is the sentence's length, each word is a row
        assert executable.counters()["batches"] == 2 * 5 + 4

    def test_the_start_is_gathered_as_the_states_after_it(self) -> None:
        steps = launch_with(optimised("birnn"), "sigmoid")
        assert len(steps) == 2
        for launch in steps:
            assert Counter(modes(launch).values()) == {Mode.GATHERED: 2, Mode.SHARED: 2}  # word, state; weight, bias


class TestSpecialisation:
    """Uses a BiRNN whose directions share one recursive function. Loops get weights of their own by inlining alone."""

    def test_each_direction_has_its_shared_weights(self, cache: Path) -> None:
        steps = launch_with(optimise(build(RecursiveBiRNN()), Options()), "sigmoid")
        assert len(steps) == 2
        for launch in steps:
            assert Counter(modes(launch).values()) == {Mode.GATHERED: 2, Mode.SHARED: 2}
        schedule = compile(RecursiveBiRNN(), cache_folder=cache, checked=True).schedule(SENTENCES)
        assert by_depth(schedule) == {t: [sum(len(s) > t for s in SENTENCES)] * 2 for t in range(5)}

    def test_without_it_weights_are_gathered_and_directions_one_batch(self, cache: Path) -> None:
        model, off = RecursiveBiRNN(), Options(specialise=False)
        (step,) = launch_with(optimise(build(model), off), "sigmoid")
        assert set(modes(step).values()) == {Mode.GATHERED}
        executable = compile(model, options=off, cache_folder=cache, checked=True)
        assert_same(executable(SENTENCES), eager(copy.deepcopy(model).double(), SENTENCES))
        schedule = executable.schedule(SENTENCES)
        batches = Counter(depth for _, depth, kernel, _ in schedule if kernel == kernels(step.unit)[0].name)
        assert batches == Counter(range(5))
        assert {rows for _, depth, _, rows in schedule if depth == 0} == {2 * sum(len(s) > 0 for s in SENTENCES)}


@pytest.mark.parametrize("name", MOST)
def test_every_weight_is_shared(name: str) -> None:
    """Every matrix and bias is shared. A weight that is used where results are too, such as a start state, may be gathered."""
    program = optimised(name)
    found = 0
    for launch in launches(program):
        for p, arg in zip(launch.unit.params, launch.args, strict=True):
            if isinstance(arg, Weight) and len(p.type.shape) == 2:
                assert p.mode is Mode.SHARED, (launch.unit.name, p.name)
                found += 1
        for kernel in kernels(launch.unit):
            params = {p.name: p.mode for p in kernel.params}
            for instr in kernel.body:
                if instr.op in ("linear", "layer_norm"):
                    assert {params[str(a)] for a in instr.args[1:]} == {Mode.SHARED}
    assert found


class TestTreeLSTM:
    leaf, node = treelstm.Leaf, treelstm.Node
    low = treelstm.Node([treelstm.Leaf(1), treelstm.Leaf(2), treelstm.Leaf(3)])
    trees = (
        treelstm.Leaf(7),
        low,
        treelstm.Node([low, treelstm.Leaf(4)]),
        treelstm.Node([treelstm.Node([treelstm.Leaf(5), low]), treelstm.Node([treelstm.Leaf(6)])]),
    )
    leaves = 1 + 3 + 4 + 5
    heights = (4, 2, 1)  # inner nodes of height 1, 2, 3

    def test_leaves_once_then_by_height_then_the_classifier(self, built: Any) -> None:
        executable = built("treelstm")
        schedule = executable.schedule(list(self.trees))
        levels = by_depth(schedule)
        assert levels.pop(0) == [self.leaves]
        # Each inner node takes three kernels of one block: sum, forget gate (a row per child), the rest.
        children = {1: 3 + 3 + 3 + 1, 2: 2 + 2, 3: 2}
        assert levels == {h: [n, children[h], n] for h, n in enumerate(self.heights, 1)}
        assert [rows for phase, _, _, rows in schedule if phase == 1] == [len(self.trees)]
        assert executable.counters()["batches"] == 1 + 3 + 1

    def test_without_hoisting_leaves_still_stand_at_one_depth(self, built: Any) -> None:
        executable = built("treelstm", options=Options(hoist=False))
        schedule = executable.schedule(list(self.trees))
        assert [rows for _, _, kernel, rows in schedule if "leaf" in kernel] == [self.leaves]

    def test_without_blocks_and_fusion_heights_still_batch(self, built: Any) -> None:
        executable = built("treelstm", options=Options(coarsen=False, vertical=False, tables=False))
        schedule = executable.schedule(list(self.trees))
        assert by_depth(schedule)[0] == [self.leaves]  # the projection of the leaves, on which all other work depends

    def test_leaves_are_projected_at_load(self, built: Any) -> None:
        """With `tables` the leaf's product becomes a lookup; its launch remains, because it computes the gates too."""
        with_tables, without = built("treelstm"), built("treelstm", options=Options(tables=False))
        assert len(with_tables.schedule(list(self.trees))) == len(without.schedule(list(self.trees)))
        saved = without.counters()["product_flops"] - with_tables.counters()["product_flops"]
        hidden = 16
        assert saved == self.leaves * 2 * hidden * 3 * hidden


class TestMVRNN:
    def test_leaves_cost_nothing_and_nodes_batch_by_height(self, built: Any) -> None:
        leaf, node = mvrnn.Leaf, mvrnn.Node
        trees = [leaf(1), node(leaf(1), leaf(2)), comb(3), node(node(leaf(3), leaf(4)), node(leaf(5), leaf(6)))]
        executable = built("mvrnn")
        schedule = executable.schedule(trees)
        heights = [1 + 1 + 2, 1 + 1, 1]
        levels = by_depth(schedule)
        # The two products of a matrix and a vector are one launch; the vector and the matrix take one each.
        assert [rows for _, rows in sorted(levels.items())] == [[2 * n, n, n] for n in heights]
        assert executable.counters()["batches"] == len(heights) + 1  # a block for each height, and the classifier
        assert [rows for phase, _, _, rows in schedule if phase == 1] == [len(trees)]

    def test_both_sides_of_the_matrix_products_are_gathered(self) -> None:
        (launch,) = launch_with(optimised("mvrnn"), "matmul")
        assert Counter(modes(launch).values())[Mode.GATHERED] == 4  # two vectors, two matrices
        products = [k for k in kernels(launch.unit) if any(i.op == "matmul" for i in k.body)]
        assert products and all(p.mode is Mode.GATHERED for k in products for p in k.params if len(p.type.shape) == 2)


def eager_layers(instances: list[Any]) -> list[int]:
    """The number of layers that each instance goes through in eager PyTorch."""
    model: Any = tiny("berxit")
    taken: list[int] = []
    inner = model.layer

    def layer(x: torch.Tensor) -> torch.Tensor:
        taken[-1] += 1
        result: torch.Tensor = inner(x)
        return result

    model.layer = layer
    with torch.inference_mode():
        for instance in instances:
            taken.append(0)
            model(instance)
    return taken


class TestBerxit:
    def test_a_wait_and_a_block_for_each_layer(self, built: Any) -> None:
        instances = draw("berxit", 8)
        layers = eager_layers(instances)
        assert len(set(layers)) > 1
        executable = built("berxit")
        schedule = executable.schedule(instances)
        counters = executable.counters()
        assert counters["waits"] == sum(layers)
        assert counters["executions"] == max(layers) + 1  # and the classifier
        assert counters["batches"] == max(layers) + 1
        running = [sum(n > done for n in layers) for done in range(max(layers))]
        assert [set(rows) for _, rows in sorted(by_depth(schedule).items())] == [{n} for n in running]
        assert {rows for phase, _, _, rows in schedule if phase == 1} == {len(instances)}


def size(tree: Any) -> int:
    return 1 + sum(map(size, tree.children))


def chain(tree: Any) -> int:
    """The number of cells on the longest path of dependences, which goes from a node to its next sibling or its first child."""
    return max((i + chain(child) for i, child in enumerate(tree.children, 1)), default=0)


class TestDRNN:
    def test_executions_follow_the_longest_chain(self, built: Any) -> None:
        instances = draw("drnn", 6)
        executable = built("drnn")
        trees = executable(instances)
        counters = executable.counters()
        nodes = sum(size(tree) - 1 for tree in trees)
        assert counters["waits"] == 2 * nodes
        # A whole list of siblings runs before their children, so a path takes at most the sum of the lengths of its lists.
        longest = max(map(chain, trees))
        cells = [n for _, _, kernel, n in executable.schedule(instances) if "softmax" in kernel]
        assert sum(cells) == nodes
        assert longest <= len(cells) <= 4 * 4
        assert counters["executions"] <= len(cells) + 1
        assert counters["executions"] < max(map(size, trees))

    def test_it_is_the_same_for_copies(self, built: Any) -> None:
        """Instances run together: six copies of an instance take as many executions as one, with six times the rows."""
        (instance,) = draw("drnn", 1)
        executable = built("drnn")
        alone = executable.schedule([instance])
        executions = executable.counters()["executions"]
        together = executable.schedule([instance] * 6)
        assert executable.counters()["executions"] == executions
        assert together == [(phase, depth, kernel, 6 * rows) for phase, depth, kernel, rows in alone]


class Elman(nn.Module):
    """An RNN with separate products of the word and of the state, so that the products of words depend on no state."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(20, 16)
        self.start: torch.Tensor = nn.Parameter(torch.randn(16))
        self.input = nn.Linear(16, 16)
        self.state = nn.Linear(16, 16, bias=False)

    def forward(self, sentence: list[int]) -> torch.Tensor:
        state = self.start
        for word in sentence:
            state = torch.tanh(self.input(self.words.weight[word]) + self.state(state))
        return state


def test_hoisting_batches_what_waits_for_nothing(cache: Path) -> None:
    """With hoisting the products of all words are one launch, without it one in each step. No workload shows that: its work
    without dependences is at depth 0 anyway (leaves), or part of a product with the state (`cat((x, h))`)."""
    model, options = Elman(), Options(tables=False, horizontal=False)
    want = eager(copy.deepcopy(model).double(), SENTENCES)
    launches = {}
    for hoist in (True, False):
        executable = compile(model, options=replace(options, hoist=hoist), cache_folder=cache, checked=True)
        assert_same(executable(SENTENCES), want)
        launches[hoist] = executable.counters()["launches"]
    assert launches == {True: 1 + 5, False: 2 * 5}
