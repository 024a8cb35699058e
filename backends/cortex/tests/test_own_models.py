"""Models that are no workload, written with the recursion API, and what is said of those that are written wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from backends.cortex.compiler import compile
from backends.cortex.options import Options
from backends.cortex.recursion import (
    Chain,
    Grid,
    Model,
    Node,
    Recursion,
    State,
    Tree,
    Value,
    Weights,
    cat,
    linear,
    operation,
    sigmoid,
    tanh,
    trace,
)

HIDDEN, WORDS, TAGS = 8, 50, 7


@dataclass
class Word:
    number: int


@dataclass
class Phrase:
    tag: int
    parts: tuple[Any, Any, Any]

    @property
    def first(self) -> Any:
        return self.parts[0]

    @property
    def second(self) -> Any:
        return self.parts[1]

    @property
    def third(self) -> Any:
        return self.parts[2]


@dataclass
class Group:
    members: list[Any]

    @property
    def reversed(self) -> list[Any]:
        """A new list each time, to which nothing else refers."""
        return self.members[::-1]


def parameters() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {"words": (WORDS, HIDDEN), "tags": (TAGS, HIDDEN), "gate.weight": (HIDDEN, 4 * HIDDEN), "gate.bias": (HIDDEN,)}
    return {name: random.normal(size=shape) / 2 for name, shape in shapes.items()}


def gated(w: Weights) -> Model:
    """Phrases of three parts with a tag, whose table is another than that of the words."""

    def leaf(n: Node) -> State:
        return {"h": tanh(n.row("words"))}

    def inner(n: Node) -> State:
        a, b, c = (n.child(k)["h"] for k in range(3))
        gate = sigmoid(w.linear("gate", cat(a, b, c, n.row("tags"))))
        return {"h": gate * tanh(a + b) + (1.0 - gate) * (-c / 2.0)}

    tree = Tree(Word, Phrase, children=("first", "second", "third"), word="number", node_word="tag")
    return Model(tree, [Recursion(leaf, inner)], lambda root: 2.0 * root.state()["h"])


def by_hand(p: dict[str, np.ndarray], node: Any) -> np.ndarray:
    if isinstance(node, Word):
        return np.tanh(p["words"][node.number])
    a, b, c = (by_hand(p, part) for part in node.parts)
    gate = 1 / (1 + np.exp(-(p["gate.weight"] @ np.concatenate([a, b, c, p["tags"][node.tag]]) + p["gate.bias"])))
    return np.asarray(gate * np.tanh(a + b) - (1 - gate) * c / 2)


def phrase(tag: int, *parts: Any) -> Phrase:
    return Phrase(tag, (parts[0], parts[1], parts[2]))


@pytest.mark.parametrize("options", [Options(), Options(specialise=False, dense=False, unroll=True)], ids=["usual", "others"])
def test_leaves_and_inner_nodes_have_tables_of_their_own(options: Options) -> None:
    """A word need not be a tag to be one; negative ones are counted from the end of the table that is read."""
    p = parameters()
    inner = phrase(2, Word(48), Word(-1), Word(7))
    trees = [phrase(-1, inner, Word(49), phrase(6, inner, inner, Word(-50))), Word(-2), inner]
    executable = compile(gated, p, options=options)
    for output, tree in zip(executable.run(trees), trees, strict=True):
        np.testing.assert_allclose(output, 2 * by_hand(p, tree), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="instance 1: the word 50 is none of the 50"):
        executable.run([inner, Word(50)])
    with pytest.raises(ValueError, match="instance 0: the word 7 is none of the 7"):
        executable.run([phrase(7, Word(1), Word(1), Word(1))])
    executable.close()


def test_fields_may_be_properties_that_make_their_value() -> None:
    def program(w: Weights) -> Model:
        tree = Tree(Word, Group, children=("reversed",), word="number")
        case = Recursion(lambda n: {"h": n.row("words")}, lambda n: {"h": tanh(n.sum(lambda child: child["h"]))})
        return Model(tree, [case], lambda root: root.state()["h"])

    p = parameters()
    executable = compile(program, p)
    trees = [Group([Word(i), Word(i + 1), Group([Word(3)])]) for i in range(20)]
    for i, output in enumerate(executable.run(trees)):
        np.testing.assert_allclose(output, np.tanh(p["words"][i] + p["words"][i + 1] + np.tanh(p["words"][3])), rtol=1e-5)
    executable.close()


def test_an_instance_may_have_several_trees() -> None:
    """Three trees, of which the last is a part of the one before it. Their fields are properties."""

    def program(w: Weights) -> Model:
        tree = Tree(Word, Group, children=("members",), word="number", instance=Phrase, roots=("first", "second", "third"))
        case = Recursion(lambda n: {"h": n.row("words")}, lambda n: {"h": tanh(n.sum(lambda child: child["h"]))})
        return Model(tree, [case], lambda n: n.state(root=0)["h"] - 2.0 * n.state(root=1)["h"] + 3.0 * n.state(root=2)["h"])

    def state(node: Any) -> np.ndarray:
        return p["words"][node.number] if isinstance(node, Word) else np.tanh(sum(map(state, node.members)))

    p = parameters()
    executable = compile(program, p)
    shared = Group([Word(4), Word(5)])
    phrases = [phrase(0, Word(i), Group([shared, Word(i + 1)]), shared) for i in range(20)]
    for each, output in zip(phrases, executable.run(phrases), strict=True):
        first, second, third = map(state, each.parts)
        np.testing.assert_allclose(output, first - 2 * second + 3 * third, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="instance 1: expected a Phrase, got Word"):
        executable.run([phrases[0], Word(1)])
    executable.close()


def test_words_that_no_case_reads_are_not_looked_at() -> None:
    def program(w: Weights) -> Model:
        tree = Tree(Word, Group, children=("members",), word="there is none of this name")
        case = Recursion(lambda n: {"h": w["gate.bias"]}, lambda n: {"h": n.sum(lambda child: child["h"])})
        return Model(tree, [case], lambda root: root.state()["h"])

    p = parameters()
    executable = compile(program, p)
    (output,) = executable.run([Group([Word(1), Group([Word(2), Word(3)])])])
    np.testing.assert_allclose(output, 3 * p["gate.bias"], rtol=1e-5)
    executable.close()


def test_states_need_not_come_out_of_one_kernel() -> None:
    """Kernels here would write states that lie apart (c, h of a leaf), or a state and what the next product needs (c), and an
    operand is read by a product after another has computed it inside (the sum)."""

    def program(w: Weights) -> Model:
        def leaf(n: Node) -> State:
            word = n.row("words")
            return {"c": tanh(word), "m": w["gate.bias"], "h": sigmoid(word)}

        def inner(n: Node) -> State:
            below = n.sum(lambda child: child["h"] + child["m"])
            both = linear(1.0 - below, w["first"])
            c = tanh(both)
            return {"c": c, "m": sigmoid(both), "h": linear(c * c, w["second"]) + linear(below, w["first"])}

        tree = Tree(Word, Group, children=("members",), word="number")
        return Model(tree, [Recursion(leaf, inner)], lambda root: root.state()["h"] + root.state()["c"])

    random = np.random.default_rng(5)
    p = parameters() | {name: random.normal(size=(HIDDEN, HIDDEN)) / 3 for name in ("first", "second")}

    def state(node: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if isinstance(node, Word):
            word = p["words"][node.number]
            return np.tanh(word), p["gate.bias"], 1 / (1 + np.exp(-word))
        below = np.sum([m + h for _, m, h in map(state, node.members)], axis=0)
        both = p["first"] @ (1 - below)
        c = np.tanh(both)
        return c, 1 / (1 + np.exp(-both)), p["second"] @ (c * c) + p["first"] @ below

    trees = [Group([Word(1), Group([Word(2), Word(3)]), Group([Word(4)])]), Word(5)]
    executable = compile(program, p)
    for output, tree in zip(executable.run(trees), trees, strict=True):
        c, _, h = state(tree)
        np.testing.assert_allclose(output, h + c, rtol=1e-4, atol=1e-5)
    executable.close()


# ---- what is refused

THREE = Tree(Word, Phrase, children=("first", "second", "third"), word="number")
LISTED = Tree(Word, Group, children=("members",), word="number")
Inner = Callable[[Node], Any]


def traced(structure: Tree | Chain | Grid, inner: Inner, leaf: Inner | None = None, output: Inner | None = None) -> None:
    w = Weights({name: array.shape for name, array in parameters().items()})
    case = Recursion(leaf or (lambda n: {"h": w["gate.bias"]}), inner)
    trace(Model(structure, [case], output or (lambda n: n.state()["h"])), w)


def of_child(n: Node) -> dict[str, Value]:
    return {"h": n.child(0)["h"]}


@pytest.mark.parametrize(
    ("structure", "inner", "message"),
    [
        (THREE, lambda n: {"h": n.row("words")}, r"no word for a row of words; name the field of Phrase: Tree\(node_word="),
        (THREE, lambda n: n.child(3), "child 3: a node has 3 children in fixed places"),
        (THREE, lambda n: n.child(-1), "child -1: a node has 3 children"),
        (Chain(), lambda n: n.child(1), "child 1: a node has 1 children"),
        (Grid(), lambda n: n.child(2), "child 2: a node has 2 children"),
        (LISTED, lambda n: n.child(0), "none in a fixed place; use sum"),
        (THREE, lambda n: {"h": n.sum(lambda child: child["h"])}, "lie in fixed places"),
        (THREE, lambda n: n.state(), "state is for an output; an inner case has none"),
        (Chain(), lambda n: {"h": n.row("tables")}, "there is no parameter tables; the model has words, tags"),
        (THREE, lambda n: {"h": n.weights.linear("gates", n.child(0)["h"])}, "there is no parameter gates.weight"),
    ],
)
def test_what_an_inner_node_does_not_have(structure: Any, inner: Inner, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        traced(structure, inner)


def test_what_leaves_and_outputs_do_not_have() -> None:
    with pytest.raises(ValueError, match="child is for an inner case; a leaf case has none"):
        traced(THREE, of_child, leaf=of_child)
    with pytest.raises(ValueError, match="child is for an inner case; an output has none"):
        traced(THREE, of_child, output=lambda n: n.child(0)["h"])
    with pytest.raises(ValueError, match="an output has no word; keep the row of words in a state"):
        traced(THREE, of_child, output=lambda n: n.row("words"))
    with pytest.raises(ValueError, match="state 1: the model has 1 recursions"):
        traced(THREE, of_child, output=lambda n: n.state(1)["h"])
    with pytest.raises(ValueError, match="root 1: an instance has 1, numbered from 0"):
        traced(THREE, of_child, output=lambda n: n.state(root=1)["h"])


def test_what_is_no_value() -> None:
    with pytest.raises(TypeError, match=r"leaf case of recursion 0: the state h is a Value such as zeros\(4\), not a float"):
        traced(THREE, of_child, leaf=lambda n: {"h": 0.0})
    with pytest.raises(TypeError, match="the inner case of recursion 0 gives a dictionary of states by name, not None"):
        traced(THREE, lambda n: None)
    with pytest.raises(TypeError, match="the output is one Value, not a dict"):
        traced(THREE, of_child, output=lambda n: n.state())
    with pytest.raises(TypeError, match="mul: an operand is a Value or a number, not a ndarray"):
        traced(THREE, lambda n: {"h": operation("mul", n.child(0)["h"], np.ones(HIDDEN))})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="control flow cannot depend on a tensor's value"):
        traced(THREE, lambda n: n.child(0) if n.child(0)["h"] > n.child(1)["h"] else n.child(1))


def test_trees_whose_classes_do_not_fit() -> None:
    with pytest.raises(ValueError, match="leaves are told by their class, and Phrase, the class of inner nodes, is a Phrase"):
        Tree(Phrase, Phrase, children=("first", "second"))
    with pytest.raises(ValueError, match="no children are named: give the fields of Group"):
        Tree(Word, Group, children=())
    with pytest.raises(ValueError, match="both its class and the fields that hold them"):
        Tree(Word, Group, children=("members",), roots=("first", "second"))
