"""Each switch set to the opposite of its default: the generated code or a counter changes, and the outputs do not."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from backends.acrobat.kernels.interface import CpuCode, Emitted
from backends.cortex.codegen import Generator
from backends.cortex.executable import bodies
from backends.cortex.lowered import Call
from backends.cortex.lowering import lower
from backends.cortex.options import SWITCHES, Options
from backends.cortex.recursion import Weights, trace
from bench.outputs import flatten
from bench.verify import Difference
from workloads.tests.cases import cases, expected
from workloads.tests.conftest import spec
from workloads.treegru.model import Leaf

ROWS: list[tuple[str, dict[str, bool]]] = [
    ("treelstm", {"batching": False, "refactor": True}),
    ("treelstm", {"specialise": False, "propagate": False, "unroll": True}),
    ("treelstm", dict.fromkeys(SWITCHES, False)),
    ("simtree", {"fusion": False, "refactor": True, "unroll": True}),
    ("treegru", {"fusion": False, "dense": False}),
    ("treegru", {"refactor": True, "unroll": True, "persist": False}),
    ("treernn", {"hoist": False, "unroll": True, "dense": False}),
    ("treefc", {"persist": False, "unroll": True, "fusion": False}),
    ("mvrnn", {"persist": False, "unroll": True, "dense": False}),
    ("birnn", {"hoist": False, "batching": False}),
    ("dagrnn", {"refactor": True, "propagate": False}),
]
"""Workloads with the switches to change; each switch differs from its default in some row."""


def title(row: tuple[str, dict[str, bool]]) -> str:
    return "-".join([row[0], *(name for name, on in row[1].items() if on != getattr(Options(), name))])


def test_each_switch_is_turned_somewhere() -> None:
    assert {name for _, changes in ROWS for name, on in changes.items() if on != getattr(Options(), name)} == set(SWITCHES)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("row", ROWS, ids=title)
def test_outputs_stay(compiled: Any, row: tuple[str, dict[str, bool]], threads: int) -> None:
    workload, changes = row
    model = compiled(workload, threads, **changes)
    for name, case in cases().items():
        if case.workload == workload and case.instances:
            expected(name).check(flatten(model.fetch(model.run(case.instances))), Difference())


# ---- generated code


@cache
def source(workload: str, options: Options) -> str:
    """The C++ of a workload; no kernel is made for it."""
    weights = Weights({name: array.shape for name, array in spec(workload).params("tiny", 0).items()})
    program = lower(trace(importlib.import_module(f"backends.cortex.{workload}").program(weights), weights), options)
    calls = [s for b in bodies(program) for s in b.steps if isinstance(s, Call)]

    def emitted(call: Call) -> Emitted[CpuCode]:
        name = "_".join(i.op for i in call.kernel.body)
        return Emitted(name, name, None, {}, 0, CpuCode(b"", 1, 0, f"int32_t {name}(...);"))

    return Generator(program, {call: emitted(call) for call in calls}).source()


def turned(switch: str) -> Options:
    return replace(Options(), **{switch: not getattr(Options(), switch)})


@pytest.mark.parametrize(
    ("switch", "workload", "here", "there"),
    [
        ("batching", "treelstm", "r.batching = true", "r.batching = false"),
        ("specialise", "treelstm", "leaf_0(s, w, a, b, split)", "const bool leaf = n >= leaves"),
        ("propagate", "treelstm", "linear_slice_sigmoid_slice_sigmoid_slice_tanh_mul_tanh_mul", "s.at(s.zeros)"),
        ("hoist", "birnn", "hoisted_0(", "cat_linear_sigmoid"),
        ("fusion", "treelstm", "linear_sigmoid_mul", 'extern "C" int32_t sigmoid(...)'),
        ("dense", "treelstm", "w.intermediates(", "s.sparse[0]->room(0)) + n0"),
        ("unroll", "treefc", "++wave", "s.pair("),
    ],
)
def test_the_code_shows_the_switch(switch: str, workload: str, here: str, there: str) -> None:
    on, off = source(workload, Options()), source(workload, turned(switch))
    assert here in on and here not in off
    assert there in off and there not in on


def test_refactoring_moves_the_gates_into_the_children() -> None:
    """The product for the gates then follows the state, for the parent to add up, instead of coming before it."""
    before, after = (source("treegru", options).split("static void inner_0")[1] for options in (Options(), turned("refactor")))
    assert "linear_slice_slice" not in before and "linear_slice_slice" in after
    assert "linear_slice_sigmoid" in before and "linear_slice_sigmoid" not in after


# ---- counters


def counters(compiled: Any, workload: str, **changes: bool) -> dict[str, Any]:
    model = compiled(workload, **changes)
    model.run(cases()[workload].instances)
    return dict(model.counters())


def test_without_batching_every_node_is_a_batch(compiled: Any) -> None:
    on, off = counters(compiled, "treelstm"), counters(compiled, "treelstm", batching=False, refactor=True)
    assert off["batches"] == off["nodes"] == on["nodes"] > on["batches"]
    assert off["mean_batch_width"] == 1 < on["mean_batch_width"]


def test_zeros_cost_products_unless_they_are_propagated(compiled: Any) -> None:
    changes = {"specialise": False, "propagate": False, "unroll": True}
    on, off = counters(compiled, "treelstm"), counters(compiled, "treelstm", **changes)
    nodes = on["nodes"] - len(cases()["treelstm"].instances)
    assert off["product_flops"] - on["product_flops"] == nodes * 3 * 2 * 16 * 16


def test_fusion_saves_launches_and_dense_indexing_memory(compiled: Any) -> None:
    on, off = counters(compiled, "treegru"), counters(compiled, "treegru", fusion=False, dense=False)
    assert off["launches"] > 2 * on["launches"] and off["batches"] == on["batches"]
    assert off["intermediate_bytes"] > 3 * on["intermediate_bytes"] > 0


def test_unrolling_halves_the_barriers(compiled: Any) -> None:
    changes = {"persist": False, "unroll": True, "fusion": False}
    on, off = counters(compiled, "treefc", **changes), counters(compiled, "treefc")
    assert (off["barriers"], on["barriers"]) == (1 + 3 + 1, 1 + 2 + 1)
    assert on["nodes"] == off["nodes"]


def test_refactoring_keeps_the_barriers_and_costs_products_at_the_leaves(compiled: Any) -> None:
    """A wavefront has as many kernels as before, since its products only move from the parent to the children. Leaves then
    have two products for their parents' gates, of which inner nodes had one for the sum of both children."""
    on, off = counters(compiled, "treegru", refactor=True), counters(compiled, "treegru")

    def leaves(tree: Any) -> int:
        return 1 if isinstance(tree, Leaf) else leaves(tree.left) + leaves(tree.right)

    for count in ("barriers", "batches", "nodes"):
        assert on[count] == off[count]
    assert on["product_flops"] - off["product_flops"] == sum(map(leaves, cases()["treegru"].instances)) * 2 * 2 * 16 * 16


def test_weights_are_packed_once_or_in_each_mini_batch(compiled: Any) -> None:
    weights = sum(a.nbytes for name, a in spec("treefc").params("tiny", 0).items() if name.startswith("cell"))
    on, off = counters(compiled, "treefc"), counters(compiled, "treefc", persist=False)
    assert (on["packed_bytes"], off["packed_bytes"]) == (0, weights)
    for count in ("batches", "launches", "barriers", "product_flops"):
        assert on[count] == off[count]


def test_hoisting_makes_one_batch_of_all_words(compiled: Any) -> None:
    on, off = counters(compiled, "birnn"), counters(compiled, "birnn", hoist=False, batching=False)
    words = sum(map(len, cases()["birnn"].instances))
    assert on["nodes"] - off["nodes"] == 2 * words
    assert on["product_flops"] == off["product_flops"]
