"""BiLSTM-CRF: a sentence is two chains, one forwards and one backwards, as in `birnn`; then the scores of the best paths are
sent along a third one, forwards. The best paths are read off backwards on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, GraphProgram, chains, needs
from backends.pytorch.batched import Counts
from backends.pytorch.paths import read_off
from backends.pytorch.programs import side_by_side
from workloads.crf.model import CRF, LSTM


class Program(GraphProgram[CRF]):
    def __init__(self, model: CRF) -> None:
        super().__init__(model)
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
            "best": emissions + model.first,  # right for the first word of a sentence; the other words' values are computed
            "pointer": torch.zeros(emissions.shape, dtype=torch.int64),
        }
        results = graph.propagate(fields, reduce, None, counts)
        lengths = [len(sentence) for sentence in minibatch]
        with counts.fetching():
            pointers, last = results["pointer"].numpy(), (results["best"] + model.last).argmax(dim=1).numpy()
        return read_off(pointers, last, lengths)

    def states(self, sentences: Sequence[list[int]], gates: Sequence[Tensor], backwards: bool, counts: Counts) -> Tensor:
        """The states of all words, sentence after sentence: [words, hidden]."""
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
    """The concatenated gates: the weights of words, the weights of states, and the biases."""
    weight, bias = side_by_side(cell.input, cell.forget, cell.output, cell.candidate)
    of_word, of_state = weight.chunk(2, dim=1)
    return of_word, of_state, bias


def _cell(sums: Tensor, c: Tensor | None) -> Fields:
    """The next states and cells. `sums`: the sums of all gates; `c`: the cells before, None where they are zero."""
    i, f, o, u = sums.chunk(4, dim=1)
    admitted = torch.sigmoid(i) * torch.tanh(u)
    c = admitted if c is None else torch.sigmoid(f) * c + admitted
    return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}
