"""Lattice LSTM. The inputs of a gate and the state are multiplied with their parts of the weights in one affine transform,
since their concatenation would be copied. There is a sum at every character, also where only one arc ends: without it equal
work of different instances has different depths, and batching by depth finds less of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import dynet as dy

from backends.dynet.engine import DEADLOCK, Expression, Graph, Parameters, expressions
from workloads.lattice.model import Lattice

GATES = "ifou"
State: TypeAlias = tuple[Expression, Expression]
Arc: TypeAlias = Callable[[int, Expression, Expression], State]


class Program:
    unsupported: ClassVar[Mapping[int, str]] = {3: DEADLOCK}

    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.tables = [parameters.table(parameters[f"{kind}s.weight"]) for kind in ("character", "word")]
        self.gates = [[parameters.linear(f"{kind}_{gate}", 2) for gate in GATES] for kind in ("character", "word")]
        kinds = ("character", "word") if parameters.tables else ()
        self.shares = [[parameters.projection(f"{kind}s.weight", f"{kind}_{gate}", 2) for gate in GATES] for kind in kinds]
        self.start = [parameters.add(parameters[name]) for name in ("start_h", "start_c")]
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Lattice], graph: Graph) -> list[list[Expression]]:
        affine = dy.affine_transform
        b, W = expressions(*self.classifier)
        start_h, start_c = expressions(*self.start)
        character, word = self.arc(0), self.arc(1)
        outputs = []
        for lattice in minibatch:
            h, c = start_h, start_c
            hs, cs = [h], [c]
            for number, ending in zip(lattice.characters, lattice.words, strict=True):
                arcs = [character(number, h, c), *(word(w.number, hs[w.begin], cs[w.begin]) for w in ending)]
                h, c = (dy.esum([arc[k] for arc in arcs]) for k in (0, 1))
                hs.append(h)
                cs.append(c)
            outputs.append([affine([b, W, h]) for h in hs[1:]])
        graph.forward([scores for each in outputs for scores in each])
        return outputs

    def arc(self, kind: int) -> Arc:
        """A function, for the current graph: the LSTM cell for characters (0) or words (1)."""
        affine, lookup, sigmoid, tanh, times = dy.affine_transform, dy.lookup, dy.logistic, dy.tanh, dy.cmult
        table, gates = self.tables[kind], [expressions(*gate) for gate in self.gates[kind]]
        shares = self.shares[kind] if self.shares else None

        def arc(number: int, h: Expression, c: Expression) -> State:
            if shares is not None:
                i, f, o, u = (
                    affine([lookup(share, number, False), U, h]) for share, (_, _, U) in zip(shares, gates, strict=True)
                )
            else:
                x = lookup(table, number, False)
                i, f, o, u = (affine([b, W, x, U, h]) for b, W, U in gates)
            c = times(sigmoid(f), c) + times(sigmoid(i), tanh(u))
            return times(sigmoid(o), tanh(c)), c

        return arc
