"""MV-RNN. Matrices are kept transposed, which turns `W_m` on both matrices side by side into an affine transform with the
weights on the left, as DyNet must have them to batch.

The products of a node's matrix with its sibling's vector have a different left operand each, so they run one by one: DyNet
batches products only if their left operand is the same node. Written as rows times the transposed matrices, they need no
transposed copies of matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dynet as dy
import numpy as np

from backends.dynet.engine import DEADLOCK, Expression, Graph, Parameters, expressions
from workloads.mvrnn.model import Leaf, Tree


class Program:
    unsupported: ClassVar[Mapping[int, str]] = {3: DEADLOCK}

    def __init__(self, model: Any, parameters: Parameters) -> None:
        hidden = parameters["W_v.weight"].shape[0]
        self.vectors = parameters.table(parameters["vectors.weight"])
        self.matrices = parameters.table(parameters["matrices.weight"].reshape(-1, hidden, hidden))
        self.vector = parameters.linear("W_v", 2)
        self.matrix = parameters.linear("W_m", 2)
        self.matrix[0] = parameters.add(np.tile(parameters["W_m.bias"][:, None], hidden))
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        lookup, affine, transpose, vectors, matrices = dy.lookup, dy.affine_transform, dy.transpose, self.vectors, self.matrices
        b_v, L_v, R_v = expressions(*self.vector)
        b_m, L_m, R_m = expressions(*self.matrix)
        b, W = expressions(*self.classifier)

        def encode(tree: Tree) -> tuple[Expression, Expression]:
            if isinstance(tree, Leaf):
                return lookup(vectors, tree.word, False), lookup(matrices, tree.word, False)
            left_v, left_m = encode(tree.left)
            right_v, right_m = encode(tree.right)
            left, right = transpose(transpose(left_v) * right_m), transpose(transpose(right_v) * left_m)
            v = dy.tanh(affine([b_v, L_v, left, R_v, right]))
            return v, affine([b_m, L_m, left_m, R_m, right_m])

        outputs = [affine([b, W, encode(tree)[0]]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
