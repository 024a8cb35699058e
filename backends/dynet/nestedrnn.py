"""NestedRNN. The instances wait together for their trip counts. The product of the input is the same in all steps of an edge
loop, so it is computed once: half the work of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dynet as dy

from backends.dynet.engine import DEADLOCK, Expression, Graph, Parameters, expressions
from backends.dynet.interleave import Interleaving, Task, decide
from workloads.decisions import split
from workloads.nestedrnn.model import Sample


class Program:
    unsupported: ClassVar[Mapping[int, str]] = {3: DEADLOCK}

    def __init__(self, model: Any, parameters: Parameters) -> None:
        hidden = model.hidden
        self.hidden = hidden
        self.input = parameters.input
        self.low, self.high, self.real = model.low, model.high, model.real
        self.z = parameters.linear("update", 2)
        self.r = parameters.linear("reset", 2)
        self.candidate = parameters.linear("candidate", 2)
        self.node = parameters.linear("node")
        self.edge = parameters.linear("edge", 2)
        self.node_count = parameters.linear("node_count")
        self.edge_count = parameters.linear("edge_count")

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[list[Expression]]:
        affine, sigmoid, tanh, times = dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        low, high, real = self.low, self.high, self.real
        b_z, W_z, U_z = expressions(*self.z)
        b_r, W_r, U_r = expressions(*self.r)
        b_c, W_c, U_c = expressions(*self.candidate)
        b_n, W_n = expressions(*self.node)
        b_e, W_e, U_e = expressions(*self.edge)
        b_nodes, W_nodes = expressions(*self.node_count)
        b_edges, W_edges = expressions(*self.edge_count)
        zeros = dy.inputVector([0.0] * self.hidden)

        def grow(sample: Sample, nodes: list[Expression]) -> Task:
            h, state = self.input(sample.x), zeros
            count = yield sigmoid(affine([b_nodes, W_nodes, h]))
            for i in range(decide(count, low, high, split(sample.key, 0), real)):
                z = sigmoid(affine([b_z, W_z, h, U_z, state]))
                r = sigmoid(affine([b_r, W_r, h, U_r, state]))
                candidate = tanh(affine([b_c, W_c, h, U_c, times(r, state)]))
                h = state + times(z, candidate + (-state))
                node = tanh(affine([b_n, W_n, h]))
                nodes.append(node)
                count = yield sigmoid(affine([b_edges, W_edges, node]))
                state, constant = node, affine([b_e, W_e, node])
                for _ in range(decide(count, low, high, split(sample.key, i + 1), real)):
                    state = sigmoid(constant + U_e * state)

        tasks = Interleaving()
        outputs: list[list[Expression]] = [[] for _ in minibatch]
        for sample, nodes in zip(minibatch, outputs, strict=True):
            tasks.start(grow(sample, nodes))
        tasks.run(graph)
        graph.forward([nodes[-1] for nodes in outputs if nodes])
        return outputs
