"""Compares the hand-written programs with the model source in float64, and tests the index arrays they use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from backends.handbatched.backend import HandBatched
from backends.handbatched.dagrnn import diagonals
from backends.handbatched.sequences import pack
from backends.handbatched.trees import levels
from bench import facts
from bench.contract import Target, Unsupported
from bench.outputs import fingerprint, flatten
from bench.verify import Difference
from workloads.tests.cases import cases_with_programs, expected
from workloads.tests.conftest import NAMES, spec
from workloads.treelstm.model import Leaf, Node
from workloads.treernn import model as treernn

PROGRAMS, CASES = cases_with_programs(__file__)
LIBRARIES = ("blas", "onednn")


def compiled(workload: str, library: Any = "blas", tables: bool = False, **options: str) -> Any:
    return HandBatched(Target(threads=1), library=library, tables=tables).compile(spec(workload, **options), "tiny", 0, 8)


def test_there_are_programs() -> None:
    assert set(PROGRAMS) == set(NAMES)


@pytest.mark.parametrize("tables", [False, True], ids=["products", "tables"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_right(name: str, library: str, tables: bool) -> None:
    case = CASES[name]
    model = compiled(case.workload, library, tables, **case.options)
    placed = model.place(case.instances)
    before = fingerprint(placed)
    model.run(placed[:1])  # the memory made for one instance is too small for all
    outputs = model.run(placed)
    if case.instances:
        expected(name).check(flatten(model.fetch(outputs)), Difference())
        expected(name).check(flatten(model.fetch(model.run(placed))), Difference())
    else:
        assert outputs == []
    assert fingerprint(placed) == before


@pytest.mark.parametrize("workload", PROGRAMS)
def test_counters_cover_the_run(workload: str) -> None:
    model = compiled(workload)
    model.run(model.place(CASES[workload].instances))
    counters = model.counters()
    assert 0 < counters["batches"] < counters["nodes"]
    assert counters["mean_batch_width"] == pytest.approx(counters["nodes"] / counters["batches"])
    parts = [counters[part] for part in ("ingest_ms", "kernel_ms", "fetch_ms")]
    assert min(parts) >= 0 and sum(parts) == pytest.approx(model.counts.run_ns / 1e6)


@pytest.mark.parametrize("workload", PROGRAMS)
def test_batches_do_not_grow_with_equal_instances(workload: str) -> None:
    model, case = compiled(workload), CASES[f"{workload}, all equal"]
    model.run(model.place(case.instances))
    together = model.counters()
    model.run(model.place(case.instances[:1]))
    alone = model.counters()
    assert together["nodes"] == 4 * alone["nodes"]
    assert together["batches"] == alone["batches"]


def test_levels_are_by_height_and_their_rows_are_neighbours() -> None:
    """root0(a, b(c, d))   root1 = e   root2(f(g), h, i)"""
    trees = [Node([Leaf(10), Node([Leaf(11), Leaf(12)])]), Leaf(13), Node([Node([Leaf(14)]), Leaf(15), Leaf(16)])]
    forest = levels(trees, Leaf, lambda node: node.children, "cpu")
    assert forest.words.tolist() == [10, 11, 12, 13, 14, 15, 16]
    assert forest.nodes == 11 and forest.leaves == 7 and forest.batches == 3
    low, high = forest.inner
    assert (low.first, low.size, low.children.tolist(), low.starts.tolist()) == (7, 2, [1, 2, 4], [0, 2])
    assert (high.first, high.size, high.children.tolist(), high.starts.tolist()) == (9, 2, [0, 7, 8, 5, 6], [0, 2])
    assert forest.roots.tolist() == [9, 3, 10]


def test_rows_behind_a_vocabulary() -> None:
    """The leaves become words 1, 0 and 2 of 5, the inner nodes rows 5 and 6."""
    trees = [Node([Leaf(1), Node([Leaf(0), Leaf(2)])]), Leaf(2)]
    forest = levels(trees, Leaf, lambda node: node.children, "cpu").behind(5)
    low, high = forest.inner
    assert (low.first, low.size, low.children.tolist()) == (5, 1, [0, 2])
    assert (high.first, high.size, high.children.tolist()) == (6, 1, [1, 5])
    assert forest.roots.tolist() == [6, 2]


def test_words_of_inner_nodes_follow_those_of_leaves() -> None:
    trees = [treernn.Node(7, treernn.Leaf(1), treernn.Node(8, treernn.Leaf(2), treernn.Leaf(3))), treernn.Leaf(4)]
    forest = levels(trees, treernn.Leaf, lambda node: (node.left, node.right), "cpu", heads=True)
    assert forest.words.tolist() == [1, 2, 3, 4, 8, 7] and forest.leaves == 4


def test_grids_are_taken_diagonal_by_diagonal() -> None:
    """Two grids, [[1, 2], [3, 4]] and [[9]]: first both corners, then 2 and 3, which need 1, then 4, which needs both."""
    order = diagonals([[[1, 2], [3, 4]], [[9]]], "cpu")
    assert order.words.tolist() == [1, 9, 2, 3, 4]
    first, second = order.inner
    assert (first.first, first.size, first.children.tolist(), first.starts.tolist()) == (2, 2, [0, 0], [0, 1])
    assert (second.first, second.size, second.children.tolist(), second.starts.tolist()) == (4, 1, [2, 3], [0])
    assert order.words[order.places].tolist() == [1, 2, 3, 4, 9]


def test_levels_of_leaves_alone() -> None:
    forest = levels([Leaf(3), Leaf(4)], Leaf, lambda node: node.children, "cpu")
    assert forest.inner == [] and forest.roots.tolist() == [0, 1] and forest.batches == 1


def test_sentences_are_packed_longest_first() -> None:
    """Forwards step by step: 30 10 20, 31 11, 32; backwards: 32 11 20, 31 10, 30."""
    packed = pack([[10, 11], [20], [], [30, 31, 32]], "cpu")
    assert packed.steps == [3, 2, 1]
    assert packed.words.tolist() == [30, 10, 20, 31, 11, 32]
    assert packed.reversed.tolist() == [32, 11, 20, 31, 10, 30]
    assert packed.words[packed.places].tolist() == [10, 11, 20, 30, 31, 32]
    assert packed.reversed[packed.mirrored].tolist() == packed.words.tolist()
    assert packed.ranks.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_products_and_accumulations(library: Any, rows: int) -> None:
    from backends.handbatched.products import accumulation, product

    random = torch.Generator().manual_seed(0)
    weight, bias, x = (torch.randn(shape, generator=random) for shape in ((7, 4), (7,), (rows, 4)))
    torch.testing.assert_close(product(library, weight, bias)(x), torch.nn.functional.linear(x, weight, bias))
    torch.testing.assert_close(product(library, weight)(x), torch.nn.functional.linear(x, weight))
    sums = torch.ones(rows, 7)
    accumulation(library, weight)(sums, x)
    torch.testing.assert_close(sums, 1 + torch.nn.functional.linear(x, weight))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("sequences", ["padded", "nested"])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.workload == "ragged" and case.instances])
def test_other_ways_to_lay_sentences_out(name: str, sequences: Any, library: Any) -> None:
    model = HandBatched(Target(threads=1), library=library, sequences=sequences).compile(spec("ragged"), "tiny", 0, 8)
    expected(name).check(flatten(model.fetch(model.run(CASES[name].instances))), Difference())


def test_ways_to_lay_sentences_out_are_for_workloads_that_have_them() -> None:
    with pytest.raises(Unsupported, match="sequences=padded is for ragged, and not for birnn"):
        HandBatched(Target(), sequences="padded").compile(spec("birnn"), "tiny", 0, 8)
    variants = HandBatched(Target(), library="blas", sequences="all").variants()
    assert [each["sequences"] for each in variants] == ["packed", "padded", "nested"]


def test_variants_and_facts() -> None:
    backend = HandBatched(Target(), tables="both")
    assert len(backend.variants()) == 4
    assert HandBatched(Target(), library="blas").variants() == [{}]
    validated = facts.validated_facts(compiled("birnn", "onednn", tables=True).facts())
    assert validated["load_time"] == "tables" and validated["threads"] == 1
    assert "oneDNN" in validated["library"]
    assert compiled("mvrnn", tables=True).facts()["load_time"] == ""  # its words are not multiplied with weights


def test_what_nobody_wrote() -> None:
    class Other(type(spec("treelstm"))):  # type: ignore[misc]
        name = "other"

    with pytest.raises(Unsupported, match=r"nobody has batched other by hand: there is no backends/handbatched/other\.py"):
        HandBatched(Target()).compile(Other(), "tiny", 0, 1)


def test_tables_are_the_products_of_all_words() -> None:
    table = compiled("treelstm", tables=True).program.u_of_words
    inputs = compiled("treelstm").program.u_of_words
    np.testing.assert_allclose(table.rows, inputs(torch.arange(len(inputs.rows))), rtol=1e-6)
    assert table.multiply is None
