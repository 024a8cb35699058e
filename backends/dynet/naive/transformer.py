"""A layer of a transformer's encoder as its equations have it.

A bias is added to every column by `colwise_add`, and layer norm is written with means along a dimension and a quotient. None
of these is ever batched.
"""

from __future__ import annotations

from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Parameters


class Layer:
    """A layer with the parameters whose names begin with `prefix`. Their module `model` names its parts as Berxit does."""

    def __init__(self, model: Any, parameters: Parameters, prefix: str = "") -> None:
        self.heads, self.head_size, self.scale = model.heads, model.head_size, model.scale
        names = ("query", "key", "value", "attended", "expand", "contract")
        self.linear = {
            name: [parameters.add(parameters[f"{prefix}{name}.{part}"]) for part in ("weight", "bias")] for name in names
        }
        self.norms = {
            name: (
                parameters.add(parameters[f"{prefix}{name}.weight"][:, None]),
                parameters.add(parameters[f"{prefix}{name}.bias"]),
                module.eps,
            )
            for name, module in (("attention_norm", model.attention_norm), ("layer_norm", model.layer_norm))
        }

    def __call__(self, x: Expression) -> Expression:
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

    def norm(self, name: str, x: Expression) -> Expression:
        scale, shift, eps = self.norms[name]
        centred = x - self.mean(x)
        variance = self.mean(dy.square(centred))
        return dy.colwise_add(dy.cmult(dy.cdiv(centred, dy.sqrt(variance + eps)), scale.expr(True)), shift.expr(True))

    def mean(self, x: Expression) -> Expression:
        """The mean of every column, as a row. With one column it is a single number, which DyNet does not transpose."""
        means = dy.mean_dim(x, [0], False)
        return means if means.dim()[0] == (1,) else dy.transpose(means)
