"""DAG-RNN: a recursion over the cells of a grid. The leaf case, the state outside of the grid, is zero."""

from __future__ import annotations

from backends.cortex.recursion import Grid, Model, Node, Recursion, State, Value, Weights, tanh, zeros


def program(w: Weights) -> Model:
    hidden = w.shapes["W.weight"][0]

    def leaf(n: Node) -> State:
        return {"h": zeros(hidden)}

    def inner(n: Node) -> State:
        return {"h": tanh(w.linear("U", n.row("embedding.weight")) + w.linear("W", n.child(0)["h"] + n.child(1)["h"]))}

    def output(n: Node) -> Value:
        return w.linear("classifier", n.state()["h"])

    return Model(Grid(), [Recursion(leaf, inner)], output)
