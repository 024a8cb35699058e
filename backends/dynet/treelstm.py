"""TreeLSTM. Each gate has its own affine transform on a slice of the fused weights: sliced results would have to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.treelstm.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        hidden = parameters["U_f.weight"].shape[0]
        self.words = parameters.table(parameters["embedding.weight"])
        gates = [slice(g * hidden, (g + 1) * hidden) for g in range(3)]
        self.inputs = [parameters.linear("W_iou", rows=gate) for gate in gates]
        self.shares = [parameters.projection("embedding.weight", "W_iou", rows=gate) for gate in gates if parameters.tables]
        self.states = [parameters.add(parameters["U_iou.weight"][gate]) for gate in gates]
        self.forget = parameters.linear("U_f")
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        lookup, affine, sigmoid, tanh, times = dy.lookup, dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        words, shares = self.words, self.shares
        (b_i, W_i), (b_o, W_o), (b_u, W_u) = (expressions(*gate) for gate in self.inputs)
        U_i, U_o, U_u = expressions(*self.states)
        b_f, U_f = expressions(*self.forget)
        b, W = expressions(*self.classifier)

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

        outputs = [affine([b, W, encode(tree)[0]]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
