"""MV-RNN. The vector and matrix of a leaf are rows of tables. They have to be copied into the array of states, since that is
where a node finds its children, by their numbers."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Recursion, State, Tree, Weights, cat, tanh
from workloads.mvrnn import model as source


def program(w: Weights) -> Model:
    hidden = w.shapes["vectors.weight"][1]

    def leaf(n: Node) -> State:
        return {"v": n.row("vectors.weight"), "m": n.row("matrices.weight", (hidden, hidden))}

    def inner(n: Node) -> State:
        left, right = n.child(0), n.child(1)
        v = tanh(w.linear("W_v", cat(right["m"] @ left["v"], left["m"] @ right["v"])))
        return {"v": v, "m": w.linear("W_m", cat(left["m"], right["m"], dim=1))}

    tree = Tree(source.Leaf, source.Node, children=("left", "right"))
    return Model(tree, [Recursion(leaf, inner)], lambda root: w.linear("classifier", root.state()["v"]))
