"""TreeLSTM by one set of equations for all nodes: a missing word, or missing children, is a new vector of zeros.

The zeros are constants, which DyNet never batches, and they are multiplied like everything else: an inner node's missing word
with three weights, a leaf's missing children with three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.treelstm.model import Leaf, Tree

State = tuple[Expression, Expression]


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.hidden = model.embedding.embedding_dim
        self.words = parameters.table(parameters["embedding.weight"])
        self.gates = [(Layer(parameters, f"W_{gate}"), Layer(parameters, f"U_{gate}")) for gate in "iou"]
        self.forget = Layer(parameters, "U_f")
        self.classifier = Layer(parameters, "classifier")

    def encoder(self) -> Callable[[Tree], State]:
        """The function from a tree to its root's state and cell, in the current graph."""
        zeros, words, forget = dy.zeros, self.words, self.forget

        def encode(tree: Tree) -> State:
            children = [] if isinstance(tree, Leaf) else [encode(child) for child in tree.children]
            x = dy.lookup(words, tree.word, False) if isinstance(tree, Leaf) else zeros(self.hidden)
            h_sum = reduce(add, [h for h, _ in children]) if children else zeros(self.hidden)
            i, o, u = (of_word(x) + of_states(h_sum) for of_word, of_states in self.gates)
            c = dy.cmult(dy.logistic(i), dy.tanh(u))
            for h, below in children:
                c = c + dy.cmult(dy.logistic(forget(h)), below)
            return dy.cmult(dy.logistic(o), dy.tanh(c)), c

        return encode

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        encode = self.encoder()
        outputs = [self.classifier(encode(tree)[0]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
