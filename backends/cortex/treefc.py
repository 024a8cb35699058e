"""TreeFC: a leaf's state is its vector, which has to be copied into the array of states."""

from __future__ import annotations

from backends.cortex.recursion import Model, Node, Recursion, State, Tree, Weights, cat, tanh
from workloads.treefc import model as source


def program(w: Weights) -> Model:
    def leaf(n: Node) -> State:
        return {"h": n.row("embedding.weight")}

    def inner(n: Node) -> State:
        return {"h": tanh(w.linear("cell", cat(n.child(0)["h"], n.child(1)["h"])))}

    tree = Tree(source.Leaf, source.Node, children=("left", "right"))
    return Model(tree, [Recursion(leaf, inner)], lambda root: root.state()["h"])
