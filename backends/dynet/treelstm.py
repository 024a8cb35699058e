"""TreeLSTM. Each gate has its own affine transform, since the slices of a common one would have to be copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.treelstm.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.inputs = [parameters.linear(f"W_{gate}") for gate in "iou"]
        self.shares = [parameters.projection("embedding.weight", f"W_{gate}") for gate in "iou" if parameters.tables]
        self.states = [parameters.add(parameters[f"U_{gate}.weight"]) for gate in "iou"]
        self.forget = parameters.linear("U_f")
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        encode = self.encoder()
        b, W = expressions(*self.classifier)
        outputs = [dy.affine_transform([b, W, encode(tree)[0]]) for tree in minibatch]
        graph.forward(outputs)
        return outputs

    def encoder(self) -> Callable[[Tree], tuple[Expression, Expression]]:
        """A function, for the current graph, from a tree to the states h and c of its root."""
        lookup, affine, sigmoid, tanh, times = dy.lookup, dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        words, shares = self.words, self.shares
        (b_i, W_i), (b_o, W_o), (b_u, W_u) = (expressions(*gate) for gate in self.inputs)
        U_i, U_o, U_u = expressions(*self.states)
        b_f, U_f = expressions(*self.forget)

        def inputs(word: int) -> list[Expression]:
            if shares:
                return [lookup(share, word, False) for share in shares]
            x = lookup(words, word, False)
            return [affine([b_i, W_i, x]), affine([b_o, W_o, x]), affine([b_u, W_u, x])]

        def encode(tree: Tree) -> tuple[Expression, Expression]:
            if isinstance(tree, Leaf):
                i, o, u = inputs(tree.word)
                c = times(sigmoid(i), tanh(u))
                return times(sigmoid(o), tanh(c)), c
            children = [encode(child) for child in tree.children]
            h_sum = children[0][0] if len(children) == 1 else dy.esum([h for h, _ in children])
            terms = [times(sigmoid(affine([b_i, U_i, h_sum])), tanh(affine([b_u, U_u, h_sum])))]
            terms += [times(sigmoid(affine([b_f, U_f, h])), c) for h, c in children]
            c = dy.esum(terms)
            return times(sigmoid(affine([b_o, U_o, h_sum])), tanh(c)), c

        return encode
