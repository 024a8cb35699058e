"""The recursion API and the transforms on expressions. Nothing is built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backends.cortex.lowering import lower
from backends.cortex.options import Options
from backends.cortex.recursion import (
    Chain,
    Grid,
    Model,
    Node,
    Recursion,
    Tree,
    Value,
    Weights,
    cat,
    linear,
    sigmoid,
    tanh,
    trace,
    zeros,
)
from backends.cortex.transforms import divided, hoistable, packed, propagated, rebuild, recursive
from workloads.treefc import model as treefc

W = Weights({"W": (4, 4), "V": (4, 4), "wide": (4, 8), "b": (4,), "E": (10, 4)})
TREE = Tree(treefc.Leaf, treefc.Node, children=("left", "right"))


def node() -> Node:
    return Node(W, replace(TREE, node_word="word"), "inner", ({"h": W["b"].type},))


def test_equal_expressions_are_one() -> None:
    assert tanh(W["b"]) is tanh(W["b"]) and W["b"] + 1.0 is not W["b"] + 2.0


def test_control_flow_on_a_tensor_is_refused() -> None:
    def inner(n: Node) -> dict[str, Value]:
        return {"h": n.child(0)["h"] if n.child(0)["h"] else n.child(1)["h"]}

    with pytest.raises(TypeError, match="control flow cannot depend on a tensor's value"):
        trace(Model(TREE, [Recursion(lambda n: {"h": n.row("E")}, inner)], lambda root: root.state()["h"]), W)


def test_cases_must_agree() -> None:
    recursion = Recursion(lambda n: {"h": n.row("E")}, lambda n: {"h": n.child(0)["h"], "c": n.child(1)["h"]})
    with pytest.raises(ValueError, match="other states than the leaf case"):
        trace(Model(TREE, [recursion], lambda root: root.state()["h"]), W)


def test_only_sequences_have_two_directions() -> None:
    recursion = Recursion(lambda n: {"h": n.row("E")}, lambda n: {"h": n.child(0)["h"]})
    with pytest.raises(ValueError, match="a Tree has 1 recursion at most"):
        trace(Model(TREE, [recursion, recursion], lambda root: root.state()["h"]), W)


@pytest.mark.parametrize("structure", [Chain(), Grid()])
def test_outside_of_a_structure_there_is_no_word(structure: Any) -> None:
    recursion = Recursion(lambda n: {"h": n.row("E")}, lambda n: {"h": tanh(n.child(0)["h"])})
    with pytest.raises(ValueError, match="must be constant"):
        lower(trace(Model(structure, [recursion], lambda n: n.state()["h"]), W), Options())


def test_zeros_are_propagated() -> None:
    x, none = node().row("E"), zeros(4)
    for before, after in [
        (x + none, x),
        (none + x, x),
        (x - none, x),
        (x * none, none),
        (tanh(none), none),
        (linear(none, W["W"]), none),
        (linear(none, W["W"], W["b"]), W["b"]),
        (linear(x, W["W"]) + linear(none, W["V"], W["b"]), linear(x, W["W"], W["b"])),
        (cat(none, none), zeros(8)),
    ]:
        assert rebuild(before, propagated) is after
    for stays in (sigmoid(none), x + W["b"], linear(x, W["W"])):
        assert rebuild(stays, propagated) is stays


def test_a_product_of_a_word_and_a_state_is_divided_and_hoisted() -> None:
    x, h = node().row("E"), node().child(0)["h"]
    whole = sigmoid(linear(cat(x, h), W["wide"], W["b"]))
    (total,) = rebuild(whole, divided).args
    assert isinstance(total, Value) and total.op == "add"
    word, state = total.args
    assert isinstance(word, Value) and isinstance(state, Value)
    assert (word.args[0], state.args[0]) == (x, h)
    assert (len(word.args), len(state.args)) == (3, 2)  # the bias is hoisted too
    assert hoistable([rebuild(whole, divided)]) == [word]
    assert hoistable([whole]) == [] and recursive(whole)


def test_gates_on_one_operand_become_one_product() -> None:
    h = node().child(0)["h"]
    gates = {"a": tanh(linear(h, W["W"])), "b": sigmoid(linear(h, W["V"], W["b"]))}
    found = packed(gates)
    slices = [v.args[0] for v in found.values()]
    assert all(isinstance(s, Value) and s.op == "slice" for s in slices)
    products = {s.args[0] for s in slices if isinstance(s, Value)}
    (product,) = products
    assert isinstance(product, Value) and product.type.shape == (8,)
    assert packed({"a": gates["a"]}) == {"a": gates["a"]}
