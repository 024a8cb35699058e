"""BERxiT, one instance after the other, each reading its certainty after every layer, so that nothing is batched across them.

A bias is added to every column by `colwise_add`, and layer norm is written with means along a dimension and a quotient. None
of these is ever batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.interleave import decide
from workloads.berxit.model import Sample
from workloads.decisions import split


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.input = parameters.input
        self.heads, self.head_size, self.scale = model.heads, model.head_size, model.scale
        self.layers, self.real = model.layers, model.real
        names = ("query", "key", "value", "attended", "expand", "contract", "certainty", "classifier")
        self.linear = {name: [parameters.add(parameters[f"{name}.{part}"]) for part in ("weight", "bias")] for name in names}
        self.norms = {
            name: (
                parameters.add(parameters[f"{name}.weight"][:, None]),
                parameters.add(parameters[f"{name}.bias"]),
                module.eps,
            )
            for name, module in (("attention_norm", model.attention_norm), ("layer_norm", model.layer_norm))
        }

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[int]:
        return [self.label(sample, graph) for sample in minibatch]

    def label(self, sample: Sample, graph: Graph) -> int:
        x = self.input(sample.x)
        for done in range(1, self.layers + 1):
            x = self.layer(x)
            (certain,) = graph.values([dy.logistic(self.vector("certainty", dy.pick(x, 0, 1)))])
            if decide(certain, 0, self.layers - done, split(sample.key, done), self.real) == 0:
                break
        (probabilities,) = graph.values([dy.softmax(self.vector("classifier", dy.pick(x, 0, 1)))])
        return int(np.argmax(probabilities))

    def layer(self, x: Expression) -> Expression:
        q, k, v = self.columns("query", x) * self.scale, self.columns("key", x), self.columns("value", x)
        heads = []
        for start in range(0, self.heads * self.head_size, self.head_size):
            part_q, part_k, part_v = (dy.pick_range(each, start, start + self.head_size) for each in (q, k, v))
            heads.append(part_v * dy.softmax(dy.transpose(part_k) * part_q))
        attended = self.norm("attention_norm", self.columns("attended", dy.concatenate(heads)) + x)
        expanded = dy.rectify(self.columns("expand", attended))
        return self.norm("layer_norm", self.columns("contract", expanded) + attended)

    def columns(self, name: str, x: Expression) -> Expression:
        weight, bias = self.linear[name]
        return dy.colwise_add(weight.expr(True) * x, bias.expr(True))

    def vector(self, name: str, x: Expression) -> Expression:
        weight, bias = self.linear[name]
        return weight.expr(True) * x + bias.expr(True)

    def norm(self, name: str, x: Expression) -> Expression:
        scale, shift, eps = self.norms[name]
        centred = x - dy.transpose(dy.mean_dim(x, [0], False))
        variance = dy.transpose(dy.mean_dim(dy.square(centred), [0], False))
        return dy.colwise_add(dy.cmult(dy.cdiv(centred, dy.sqrt(variance + eps)), scale.expr(True)), shift.expr(True))
