"""Compares the compiled recursions with the model source in float64, and tests instances that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from backends.cortex.backend import DECIDED_BY_TENSORS, Cortex
from bench import facts
from bench.contract import Target, Unsupported
from bench.outputs import fingerprint, flatten
from bench.verify import Difference
from workloads.simtree.model import Pair
from workloads.tests.cases import cases_with_programs, expected
from workloads.tests.conftest import NAMES, spec
from workloads.treelstm.model import Leaf, Node

PROGRAMS, CASES = cases_with_programs(__file__)


def test_there_are_programs() -> None:
    assert set(PROGRAMS) == {"treelstm", "simtree", "mvrnn", "birnn", "treegru", "treernn", "treefc", "dagrnn"}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_right(compiled: Any, name: str, threads: int) -> None:
    case = CASES[name]
    model = compiled(case.workload, threads)
    before = fingerprint(case.instances)
    model.run(case.instances[:1])  # the memory made for one instance is too small for all
    outputs = model.run(case.instances)
    model.run(case.instances[:1])
    if case.instances:
        expected(name).check(flatten(model.fetch(outputs)), Difference())  # results outlive the next mini-batch
        expected(name).check(flatten(model.fetch(model.run(case.instances))), Difference())
    else:
        assert outputs == []
    assert fingerprint(case.instances) == before


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_instances_add_nodes_and_no_batches(compiled: Any, name: str) -> None:
    model, case = compiled(name), CASES[f"{name}, all equal"]
    model.run(case.instances)
    together = model.counters()
    model.run(case.instances[:1])
    alone = model.counters()
    for count in ("nodes", "product_flops", "copied_bytes"):
        assert together[count] == 4 * alone[count]
    for count in ("batches", "launches", "barriers"):
        assert together[count] == alone[count] > 0
    assert together["mean_batch_width"] == pytest.approx(together["nodes"] / together["batches"])
    assert all(together[part] >= 0 for part in together if part.endswith("_ms"))


def test_leaves_that_are_rows_of_tables_are_copied(compiled: Any) -> None:
    """MV-RNN's leaves are rows of tables and are copied, as in the paper; TreeLSTM's are computed, so nothing is copied."""
    leaf = (16 + 16 * 16) * 4
    model, case = compiled("mvrnn"), CASES["mvrnn, a leaf, a long chain"]
    model.run(case.instances)
    assert model.counters()["copied_bytes"] == (1 + 40 + 2) * leaf and model.counters()["copy_ms"] > 0
    model = compiled("treelstm")
    model.run(CASES["treelstm"].instances)
    assert model.counters()["copied_bytes"] == 0


def test_wavefronts_are_heights(compiled: Any) -> None:
    """root0(a, b(c, d))   root1 = e   root2(f(g), h, i): leaves, two heights and the classifier."""
    model = compiled("treelstm")
    inner = Node([Leaf(0), Node([Leaf(1), Leaf(2)])])
    model.run([inner, Leaf(3), Node([Node([Leaf(4)]), Leaf(5), Leaf(6)])])
    counters = model.counters()
    assert counters["batches"] == 1 + 2 + 1
    assert counters["launches"] == 1 + 2 * 3 + 1
    assert counters["nodes"] == 11 + 3
    product = 2 * 16 * 16
    assert counters["product_flops"] == product * (7 * 3 + 4 * 3 + 8) + 3 * 2 * 16 * 5


@pytest.mark.parametrize(
    ("workload", "instance", "message"),
    [
        ("treelstm", Leaf(100), "instance 1: the word 100 is none of the 100 of the vocabulary"),
        ("treelstm", Leaf(2**70), "instance 1: the word is a number of more than 64 bits"),
        ("treelstm", Leaf("a"), "instance 1: expected the number of a word, got str"),  # type: ignore[arg-type]
        ("treelstm", Node([]), "instance 1: a node without children"),
        ("treelstm", Node([Leaf(1), 3]), "instance 1: expected a Leaf or a Node, got int"),  # type: ignore[list-item]
        ("simtree", Leaf(1), "instance 1: expected a Pair, got Leaf"),
        ("simtree", Pair(Leaf(1), Leaf(100)), "instance 1: the word 100 is none of the 100 of the vocabulary"),
        ("birnn", 7, "instance 1: expected a list of words, got int"),
        ("birnn", [3, -101], "instance 1: the word -101 is none of the 100"),
        ("dagrnn", [], "instance 1: expected a grid of at least one row"),
        ("dagrnn", [[1, 2], [3]], "instance 1: row 1 has 1 cells, the rows before it 2"),
    ],
)
def test_an_instance_that_does_not_fit_is_named(compiled: Any, workload: str, instance: Any, message: str) -> None:
    model, good = compiled(workload), CASES[workload].instances[0]
    with pytest.raises(ValueError, match=message):
        model.run([good, instance])
    assert len(model.run([good])) == 1


def test_a_tree_without_end_is_an_error(compiled: Any) -> None:
    tree: Any = Node([])
    tree.children.append(tree)
    with pytest.raises(RecursionError, match="while a tree is read"):
        compiled("treelstm").run([tree])


def test_facts(compiled: Any) -> None:
    validated = facts.validated_facts(compiled("treelstm", 2).facts())
    assert validated["threads"] == 2 and validated["load_time"] == "" and validated["library"].startswith("generated kernels")


@pytest.mark.parametrize("workload", [name for name in NAMES if name not in PROGRAMS])
def test_what_it_cannot_do_has_a_reason(workload: str) -> None:
    wanted = "depends on values of tensors" if workload in DECIDED_BY_TENSORS else f"no backends/cortex/{workload}.py"
    with pytest.raises(Unsupported, match=wanted):
        Cortex(Target()).compile(spec(workload), "tiny", 0, 1)


def test_it_is_for_cpus() -> None:
    assert Cortex(Target(device="cuda")).available() == "it generates code for CPUs only"


def test_it_is_unavailable_without_the_compiler_that_it_builds_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler is not on the PATH" in str(Cortex(Target()).available())
