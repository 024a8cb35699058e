"""A layer of a transformer's encoder. A sequence is a matrix with a column per token.

Layer norm is written as products with constant rows and columns and element-wise operations: DyNet's own `layer_norm`, and its
means along a dimension, take 20 times as long. A head is a range of rows: splitting and joining heads by `reshape` and
`transpose` of three dimensions is slower, and wrong under autobatching, since all transposes of equal arguments share a
signature, whatever their order of dimensions. For a similar reason only rows are picked: a range of rows and a range of columns
of a square matrix share a signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Parameters, expressions


class Layer:
    """A layer with the parameters whose names begin with `prefix`. Their module `model` names its parts as Berxit does."""

    def __init__(self, model: Any, parameters: Parameters, prefix: str = "") -> None:
        hidden = len(parameters[f"{prefix}query.weight"])
        self.heads, self.head_size, self.scale = model.heads, model.head_size, model.scale
        self.qkv = [parameters.linear(f"{prefix}{name}") for name in ("query", "key", "value")]
        self.attended = parameters.linear(f"{prefix}attended")
        self.expand = parameters.linear(f"{prefix}expand")
        self.contract = parameters.linear(f"{prefix}contract")
        self.mean = parameters.add(np.full((1, hidden), 1 / hidden, np.float32))
        self.minus = parameters.add(np.full((hidden, 1), -1, np.float32))
        self.norms = [
            (
                parameters.add(parameters[f"{prefix}{name}.weight"][:, None]),
                parameters.add(parameters[f"{prefix}{name}.bias"]),
                module.eps,
            )
            for name, module in (("attention_norm", model.attention_norm), ("layer_norm", model.layer_norm))
        ]

    def expression(self) -> Callable[[Expression], Expression]:
        """A function, for the current graph, from a sequence to the sequence after the layer, both [hidden, tokens]."""
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
            q, k, v = affine([b_q, W_q, x]) * self.scale, affine([b_k, W_k, x]), affine([b_v, W_v, x])
            heads = []
            for start, stop in rows:
                attention = softmax(transpose(pick_range(k, start, stop)) * pick_range(q, start, stop))
                heads.append(pick_range(v, start, stop) * attention)
            attended = norm(affine([b_a, W_a, dy.concatenate(heads)]) + x, scale_1, shift_1, eps_1)
            expanded = dy.rectify(affine([b_e, W_e, attended]))
            return norm(affine([b_c, W_c, expanded]) + attended, scale_2, shift_2, eps_2)

        return layer
