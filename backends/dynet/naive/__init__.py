"""The programs as a user of DyNet writes them first, equation by equation: `backend.dynet.formulation=naive`.

Each computes what the program of the same name in the folder above does, in a form that DyNet's heuristics batch less well.
What they miss is said in each file; in short, with the workloads in which it shows:

- A product is batched over one shared left operand only: of matrices that are instances' own every product runs alone (mvrnn).
- Constants are never batched, and each needs a node: the zeros of absent children and words, the ones of `1 - z` (treelstm,
  simtree, treegru).
- A sum of a product and a bias is two operators; `affine_transform` is one (all).
- A concatenation is copied, and its product needs the copies (birnn, treefc).
- `argmax`, `colwise_add`, means along a dimension and quotients are never batched (birnn, berxit).
- Reading a value evaluates what has been built by then. Control flow that reads one instance's values after another's leaves
  nothing to batch across instances; the other programs build all instances side by side (berxit, drnn, nestedrnn, stackrnn).

Sources: `autobatch_sig` of the operators in DyNet's own source; Neubig, Goldberg and Dyer (NIPS 2017) on what is batched; and
the ACRoBat paper (Fegade et al., MLSys 2024), which compares with a DyNet that was improved where its heuristics fail.
"""

from __future__ import annotations

from typing import Any

from backends.dynet.engine import Expression, Parameters


class Layer:
    """`nn.Linear` as W * x + b."""

    def __init__(self, parameters: Parameters, name: str) -> None:
        self.weight = parameters.add(parameters[f"{name}.weight"])
        self.bias: Any = parameters.add(parameters[f"{name}.bias"]) if f"{name}.bias" in parameters.arrays else None

    def __call__(self, x: Expression) -> Expression:
        product = self.weight.expr(True) * x
        return product if self.bias is None else product + self.bias.expr(True)
