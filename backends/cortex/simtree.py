"""SimTree: the recursion of TreeLSTM over both trees of each pair, and an output that compares the states of the two roots."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Tree, Value, Weights, operation, sigmoid
from backends.cortex.treelstm import recursion
from workloads.simtree.model import Pair
from workloads.treelstm.model import Leaf
from workloads.treelstm.model import Node as Inner


def program(w: Weights) -> Model:
    def compare(pair: Node) -> Value:
        left, right = (pair.state(root=root)["h"] for root in range(2))
        apart = operation("maximum", left - right, right - left)
        related = sigmoid(w.linear("product", left * right) + w.linear("distance", apart))
        return operation("softmax", w.linear("classifier", related), dim=0)

    tree = Tree(Leaf, Inner, children=("children",), instance=Pair, roots=("left", "right"))
    return Model(tree, [recursion(w)], compare)
