"""BiLSTM-CRF: a sentence is a chain, once forwards and once backwards, as in `birnn`; then the scores of the best paths are
sent along it forwards. The best paths are read off backwards on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, chains, needs
from backends.pytorch.batched import Counts
from backends.pytorch.paths import read_off
from workloads.crf.model import CRF, LSTM


class Program:
    projected = False

    def __init__(self, model: CRF) -> None:
        self.model = model
        self.ahead, self.behind = ((*_gates(cell),) for cell in (model.ahead, model.behind))

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        if not any(minibatch):
            return [[] for _ in minibatch]
        model = self.model
        ahead = self.states(minibatch, self.ahead, False, counts)
        behind = self.states(minibatch, self.behind, True, counts)
        emissions = model.emission(torch.cat((ahead, behind), dim=1))
        counts.nodes, counts.batches = counts.nodes + len(emissions), counts.batches + 1
        graph = chains(minibatch, False, counts)

        @needs("best")
        def reduce(nodes: Any) -> Fields:
            values, pointer = (nodes.mailbox["best"] + model.transitions).max(dim=2)
            return {"best": values + nodes.data["emission"], "pointer": pointer}

        fields = {
            "emission": emissions,
            "best": emissions + model.first,  # of a sentence's first word; the others' come along the chain
            "pointer": torch.zeros(emissions.shape, dtype=torch.int64),
        }
        found = graph.propagate(fields, reduce, None, counts)
        lengths = [len(sentence) for sentence in minibatch]
        with counts.fetching():
            pointers, last = found["pointer"].numpy(), (found["best"] + model.last).argmax(dim=1).numpy()
        return read_off(pointers, last, lengths)

    def states(self, sentences: Sequence[list[int]], gates: Sequence[Tensor], backwards: bool, counts: Counts) -> Tensor:
        """Of every word, sentence after sentence."""
        of_word, of_state, bias = gates
        graph = chains(sentences, backwards, counts)

        @needs("h", "c")
        def reduce(nodes: Any) -> Fields:
            h, c = nodes.mailbox["h"][:, 0], nodes.mailbox["c"][:, 0]
            return _cell(nodes.data["x"] + linear(h, of_state), c)

        x = linear(self.model.embedding(graph.words), of_word, bias)
        first = _cell(x[graph.roots] + of_state @ self.model.start, None)
        fields = {"x": x} | {name: x.new_empty(len(x), len(self.model.start)) for name in first}
        for name, rows in first.items():
            fields[name][graph.roots] = rows
        states: Tensor = graph.propagate(fields, reduce, None, counts)["h"]
        return states


def _gates(cell: LSTM) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of words and of states, and the biases, of all gates."""
    gates = (cell.input, cell.forget, cell.output, cell.candidate)
    of_word, of_state = torch.cat([gate.weight for gate in gates]).chunk(2, dim=1)
    return of_word, of_state, torch.cat([gate.bias for gate in gates])


def _cell(sums: Tensor, c: Tensor | None) -> Fields:
    """`sums`: of the gates; `c`: the cells before, None where they are zero."""
    i, f, o, u = sums.chunk(4, dim=1)
    made = torch.sigmoid(i) * torch.tanh(u)
    c = made if c is None else torch.sigmoid(f) * c + made
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}
