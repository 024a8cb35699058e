"""Lattice LSTM as its equations are: with a concatenation, which is copied, and a product and a sum for each gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.lattice.model import Lattice


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.characters = parameters.table(parameters["characters.weight"])
        self.words = parameters.table(parameters["words.weight"])
        self.start_h, self.start_c = (parameters.add(parameters[name]) for name in ("start_h", "start_c"))
        self.character, self.word = ([Layer(parameters, f"{kind}_{gate}") for gate in "ifou"] for kind in ("character", "word"))
        self.classifier = Layer(parameters, "classifier")

    def run(self, minibatch: Sequence[Lattice], graph: Graph) -> list[list[Expression]]:
        outputs = []
        for lattice in minibatch:
            h, c = self.start_h.expr(True), self.start_c.expr(True)
            hs, cs = [h], [c]
            for number, ending in zip(lattice.characters, lattice.words, strict=True):
                arcs = [arc(self.character, dy.lookup(self.characters, number, False), h, c)]
                for word in ending:
                    arcs.append(arc(self.word, dy.lookup(self.words, word.number, False), hs[word.begin], cs[word.begin]))
                h, c = (dy.esum([each[k] for each in arcs]) for k in (0, 1))
                hs.append(h)
                cs.append(c)
            outputs.append([self.classifier(h) for h in hs[1:]])
        graph.forward([scores for each in outputs for scores in each])
        return outputs


def arc(gates: Sequence[Layer], x: Expression, h: Expression, c: Expression) -> tuple[Expression, Expression]:
    """The next state and cell of an LSTM with these gates, on the input `x`."""
    xh = dy.concatenate([x, h])
    i, f, o, u = (gate(xh) for gate in gates)
    c = dy.cmult(dy.logistic(f), c) + dy.cmult(dy.logistic(i), dy.tanh(u))
    return dy.cmult(dy.logistic(o), dy.tanh(c)), c
