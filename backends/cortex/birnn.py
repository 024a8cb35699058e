"""BiRNN: two recursions over a sentence. The leaf case is the state before the first word, or, backwards, after the last."""

from __future__ import annotations

from backends.cortex.recursion import Chain, Model, Node, Recursion, State, Value, Weights, argmax, cat, sigmoid


def program(w: Weights) -> Model:
    def recursion(direction: str) -> Recursion:
        def leaf(n: Node) -> State:
            return {"h": w[f"{direction}_start"]}

        def inner(n: Node) -> State:
            return {"h": sigmoid(w.linear(f"{direction}_cell", cat(n.row("embedding.weight"), n.child(0)["h"])))}

        return Recursion(leaf, inner)

    def output(n: Node) -> Value:
        return argmax(w.linear("classifier", cat(n.state(0)["h"], n.state(1)["h"])))

    return Model(Chain(), [recursion("forward"), recursion("backward")], output)
