"""MV-RNN: a leaf's vector and matrix are rows of tables, which have to be copied to where states lie, since the children of a
node are found by their numbers, in one array of states."""

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
