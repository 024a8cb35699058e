"""TreeLSTM: one cell for both cases. A leaf has no children, so its sums are zero; an inner node has no word."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Recursion, State, Tree, Value, Weights, sigmoid, tanh, zeros
from workloads.treelstm import model as source


def recursion(w: Weights) -> Recursion:
    hidden = w.shapes["U_i.weight"][0]
    none = zeros(hidden)

    def cell(x: Value, h_sum: Value, forgotten: Value) -> State:
        i, o = (sigmoid(w.linear(f"W_{gate}", x) + w.linear(f"U_{gate}", h_sum)) for gate in "io")
        u = tanh(w.linear("W_u", x) + w.linear("U_u", h_sum))
        c = i * u + forgotten
        return {"h": o * tanh(c), "c": c}

    def leaf(n: Node) -> State:
        return cell(n.row("embedding.weight"), none, none)

    def inner(n: Node) -> State:
        h_sum = n.sum(lambda child: child["h"])
        return cell(none, h_sum, n.sum(lambda child: sigmoid(w.linear("U_f", child["h"])) * child["c"]))

    return Recursion(leaf, inner)


def program(w: Weights) -> Model:
    tree = Tree(source.Leaf, source.Node, children=("children",))
    return Model(tree, [recursion(w)], lambda root: w.linear("classifier", root.state()["h"]))
