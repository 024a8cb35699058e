"""DRNN. Each list of siblings is a task of `interleave.py`; a node's children start once it is decided that it has some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from backends.dynet.interleave import Interleaving, Task, decide
from workloads.decisions import split
from workloads.drnn.model import Sample

Rose = tuple[Expression, Expression, list[Any]]


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.input = parameters.input
        self.limit, self.real = model.limit, model.real
        self.ancestral = parameters.linear("ancestral", 2)
        self.fraternal = parameters.linear("fraternal", 2)
        self.join = parameters.linear("join", 2)
        self.topology = parameters.add(parameters["topology.weight"])
        # p_parent * if_parent + p_sibling * if_sibling is a product of both as columns with both probabilities.
        topology = np.stack((parameters["if_parent"], parameters["if_sibling"]), axis=1)
        self.output = [*parameters.linear("output"), parameters.add(topology)]

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[Rose]:
        affine, sigmoid, tanh, softmax = dy.affine_transform, dy.logistic, dy.tanh, dy.softmax
        limit, real = self.limit, self.real
        b_a, W_a, U_a = expressions(*self.ancestral)
        b_f, W_f, U_f = expressions(*self.fraternal)
        b_j, A_j, F_j = expressions(*self.join)
        (W_p,) = expressions(self.topology)
        b_x, W_x, V_x = expressions(*self.output)
        tasks = Interleaving()

        def grow(x_parent: Expression, h_parent: Expression, depth: int, key: int, siblings: list[Rose]) -> Task:
            x, h_fraternal = x_parent, h_parent
            h = sigmoid(affine([b_a, W_a, x_parent, U_a, h_parent]))  # the same for all siblings
            for i in range(limit + 1):
                h_fraternal = sigmoid(affine([b_f, W_f, x, U_f, h_fraternal]))
                joint = tanh(affine([b_j, A_j, h, F_j, h_fraternal]))
                p = sigmoid(W_p * joint)
                x = softmax(affine([b_x, W_x, joint, V_x, p]))
                tasks.latest = (x,)
                p_parent, p_sibling = yield p
                node_key = split(key, i)
                children: list[Rose] = []
                siblings.append((x, h, children))
                if decide(p_parent, 0, limit - depth, split(node_key, 0), real) > 0:
                    tasks.start(grow(x, h, depth + 1, split(node_key, 2), children))
                if decide(p_sibling, 0, limit - i, split(node_key, 1), real) == 0:
                    break

        outputs: list[Rose] = []
        for sample in minibatch:
            root: Rose = (self.input(sample.x), self.input(sample.h), [])
            outputs.append(root)
            tasks.start(grow(root[0], root[1], 0, sample.key, root[2]))
        tasks.run(graph)
        return outputs
