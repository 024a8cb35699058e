"""TreeRNN: one cell for both cases, on the node's word and the sum of its children's states, which is zero for a leaf."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Recursion, State, Tree, Value, Weights, tanh, zeros
from workloads.treernn import model as source


def program(w: Weights) -> Model:
    none = zeros(w.shapes["U.weight"][0])

    def cell(n: Node, h_sum: Value) -> State:
        return {"h": tanh(w.linear("W", n.row("embedding.weight")) + w.linear("U", h_sum))}

    def inner(n: Node) -> State:
        return cell(n, n.child(0)["h"] + n.child(1)["h"])

    tree = Tree(source.Leaf, source.Node, children=("left", "right"), node_word="word")
    recursion = Recursion(lambda n: cell(n, none), inner)
    return Model(tree, [recursion], lambda root: w.linear("classifier", root.state()["h"]))
