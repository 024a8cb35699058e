"""TreeGRU: one cell for both cases. A leaf has no children, so their sum is zero; an inner node has no word."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Recursion, State, Tree, Value, Weights, sigmoid, tanh, zeros
from workloads.treegru import model as source


def program(w: Weights) -> Model:
    none = zeros(w.shapes["U_h.weight"][0])

    def cell(x: Value, h_sum: Value) -> State:
        z = sigmoid(w.linear("W_z", x) + w.linear("U_z", h_sum))
        r = sigmoid(w.linear("U_r", h_sum))
        candidate = tanh(w.linear("W_h", x) + w.linear("U_h", r * h_sum))
        return {"h": candidate + z * (h_sum - candidate)}

    def leaf(n: Node) -> State:
        return cell(n.row("embedding.weight"), none)

    def inner(n: Node) -> State:
        return cell(none, n.child(0)["h"] + n.child(1)["h"])

    tree = Tree(source.Leaf, source.Node, children=("left", "right"))
    return Model(tree, [Recursion(leaf, inner)], lambda root: w.linear("classifier", root.state()["h"]))
