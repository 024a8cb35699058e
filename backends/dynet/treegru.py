"""TreeGRU. Each gate has its own affine transform, since the slices of a common one would have to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.treegru.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.inputs = [parameters.linear(f"W_{gate}") for gate in "zh"]
        self.shares = [parameters.projection("embedding.weight", f"W_{gate}") for gate in "zh" if parameters.tables]
        self.states = [parameters.add(parameters[f"U_{gate}.weight"]) for gate in "zh"]
        self.reset = parameters.linear("U_r")
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        lookup, affine, sigmoid, tanh, times = dy.lookup, dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        words, shares = self.words, self.shares
        (b_z, W_z), (b_h, W_h) = (expressions(*gate) for gate in self.inputs)
        U_z, U_h = expressions(*self.states)
        b_r, U_r = expressions(*self.reset)
        b, W = expressions(*self.classifier)

        def encode(tree: Tree) -> Expression:
            if isinstance(tree, Leaf):
                if shares:
                    z, candidate = (lookup(share, tree.word, False) for share in shares)
                else:
                    x = lookup(words, tree.word, False)
                    z, candidate = affine([b_z, W_z, x]), affine([b_h, W_h, x])
                candidate = tanh(candidate)
                return candidate - times(sigmoid(z), candidate)
            h_sum = encode(tree.left) + encode(tree.right)
            z = sigmoid(affine([b_z, U_z, h_sum]))
            r = sigmoid(affine([b_r, U_r, h_sum]))
            candidate = tanh(affine([b_h, U_h, times(r, h_sum)]))
            return candidate + times(z, h_sum - candidate)

        outputs = [affine([b, W, encode(tree)]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
