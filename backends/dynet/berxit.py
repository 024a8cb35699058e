"""BERxiT. A sequence is a matrix with a column per token. The instances wait together for the decision to exit.

Layer norm is written as products with constant rows and columns and element-wise operations: DyNet's own `layer_norm`, and its
means along a dimension, take 20 times as long. A head is a range of rows; splitting and joining them by `reshape` and
`transpose` of three dimensions is slower, and wrong under autobatching, where transposes of equal arguments share a
signature whatever their order of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from backends.dynet.interleave import Interleaving, Task, decide
from workloads.berxit.model import Sample
from workloads.decisions import split


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        hidden = model.hidden
        self.input = parameters.input
        self.heads, self.head_size, self.scale = model.heads, model.head_size, model.scale
        self.layers, self.real = model.layers, model.real
        self.qkv = [parameters.linear(name) for name in ("query", "key", "value")]
        self.attended = parameters.linear("attended")
        self.expand = parameters.linear("expand")
        self.contract = parameters.linear("contract")
        self.certainty = parameters.linear("certainty")
        self.classifier = parameters.linear("classifier")
        self.mean = parameters.add(np.full((1, hidden), 1 / hidden, np.float32))
        self.minus = parameters.add(np.full((hidden, 1), -1, np.float32))
        self.norms = [
            (parameters.add(parameters[f"{name}.weight"][:, None]), parameters.add(parameters[f"{name}.bias"]), module.eps)
            for name, module in (("attention_norm", model.attention_norm), ("layer_norm", model.layer_norm))
        ]

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[int]:
        affine, real, layers = dy.affine_transform, self.real, self.layers
        layer = self.layer()
        b_c, W_c = expressions(*self.certainty)
        b, W = expressions(*self.classifier)

        def go(sample: Sample, first: list[Expression | None], place: int) -> Task:
            x = self.input(sample.x)
            for done in range(1, layers + 1):
                x = layer(x)
                first[place] = dy.pick(x, 0, 1)
                certain = yield dy.logistic(affine([b_c, W_c, first[place]]))
                if decide(certain, 0, layers - done, split(sample.key, done), real) == 0:
                    break

        tasks = Interleaving()
        first: list[Expression | None] = [None] * len(minibatch)
        for place, sample in enumerate(minibatch):
            tasks.start(go(sample, first, place))
        tasks.run(graph)
        probabilities = graph.values([dy.softmax(affine([b, W, x])) for x in first])
        return [int(np.argmax(p)) for p in probabilities]

    def layer(self) -> Callable[[Expression], Expression]:
        affine, transpose, pick_range, softmax = dy.affine_transform, dy.transpose, dy.pick_range, dy.softmax
        (b_q, W_q), (b_k, W_k), (b_v, W_v) = (expressions(*part) for part in self.qkv)
        b_a, W_a = expressions(*self.attended)
        b_e, W_e = expressions(*self.expand)
        b_c, W_c = expressions(*self.contract)
        mean, minus = expressions(self.mean, self.minus)
        (scale_1, shift_1, eps_1), (scale_2, shift_2, eps_2) = ((*expressions(g, b), eps) for g, b, eps in self.norms)
        rows = [(h * self.head_size, (h + 1) * self.head_size) for h in range(self.heads)]

        def norm(x: Expression, scale: Expression, shift: Expression, eps: float) -> Expression:
            centred = x + minus * (mean * x)
            variance = mean * dy.square(centred)
            inverse = dy.exp(dy.log(variance + eps) * -0.5)
            return dy.colwise_add(dy.cmult(centred, scale * inverse), shift)

        def layer(x: Expression) -> Expression:
            q, k, v = affine([b_q, W_q, x]) * self.scale, transpose(affine([b_k, W_k, x])), affine([b_v, W_v, x])
            heads = []
            for start, stop in rows:
                attention = softmax(pick_range(k, start, stop, 1) * pick_range(q, start, stop))
                heads.append(pick_range(v, start, stop) * attention)
            attended = norm(affine([b_a, W_a, dy.concatenate(heads)]) + x, scale_1, shift_1, eps_1)
            expanded = dy.rectify(affine([b_e, W_e, attended]))
            return norm(affine([b_c, W_c, expanded]) + attended, scale_2, shift_2, eps_2)

        return layer
