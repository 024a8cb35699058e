"""The programs as a user of DyNet writes them first, equation by equation: `backend.dynet.formulation=naive`.

Each computes what the program of the same name in the folder above does, in a form that DyNet's heuristics batch less well.
Each file says what they miss. In short, with the workloads that show it:

- Products are batched only if they share their left operand: a product with a matrix of one instance runs alone (mvrnn).
- Constants are never batched, and each needs a node: the zeros of absent children and words, the ones of `1 - z` (treelstm,
  simtree, treegru).
- A sum of a product and a bias is two operators; `affine_transform` is one (all).
- A concatenation is copied before its product can run (birnn, treefc).
- `argmax`, `colwise_add`, means along a dimension and quotients are never batched (birnn, berxit).
- Reading a value evaluates what has been built by then. Where control flow reads values, running one instance after another
  leaves nothing to batch across instances; the other formulation builds all instances side by side (berxit, drnn, nestedrnn,
  stackrnn, seq2seq, beam, crf).

Sources: `autobatch_sig` of the operators in DyNet's own source; Neubig, Goldberg and Dyer (NIPS 2017) on what is batched; and
the ACRoBat paper (Fegade et al., MLSys 2024), which compares with a DyNet that was improved where its heuristics fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.dynet.engine import Expression, Graph, Parameters


class Layer:
    """`nn.Linear` as W * x + b."""

    def __init__(self, parameters: Parameters, name: str) -> None:
        self.weight = parameters.add(parameters[f"{name}.weight"])
        self.bias: Any = parameters.add(parameters[f"{name}.bias"]) if f"{name}.bias" in parameters.arrays else None

    def __call__(self, x: Expression) -> Expression:
        product = self.weight.expr(True) * x
        return product if self.bias is None else product + self.bias.expr(True)


class OneAfterAnother:
    """Before a program's class among the bases: each instance of a mini-batch is run as a mini-batch of its own."""

    def run(self, minibatch: Sequence[Any], graph: Graph) -> list[Any]:
        run = super().run  # type: ignore[misc]
        return [output for instance in minibatch for output in run([instance], graph)]
