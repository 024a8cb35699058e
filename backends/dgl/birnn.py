"""BiRNN: a sentence is two chains, one forwards and one backwards, in which each word receives its neighbour's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, GraphProgram, chains, needs
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_sentence
from workloads.birnn.model import BiRNN


class Program(GraphProgram[BiRNN]):
    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        if not any(minibatch):
            return [[] for _ in minibatch]
        model = self.model
        ahead = self.states(minibatch, model.forward_cell, model.forward_start, False, counts)
        behind = self.states(minibatch, model.backward_cell, model.backward_start, True, counts)
        best = model.classifier(torch.cat((ahead, behind), dim=1)).argmax(dim=1)
        counts.nodes, counts.batches = counts.nodes + len(best), counts.batches + 1
        with counts.fetching():
            labels = best.tolist()
        return by_sentence(labels, minibatch)

    def states(self, sentences: Sequence[list[int]], cell: nn.Linear, start: Tensor, backwards: bool, counts: Counts) -> Tensor:
        """The states of all words, sentence after sentence: [words, hidden]."""
        of_word, of_state = cell.weight.chunk(2, dim=1)
        graph = chains(sentences, backwards, counts)

        @needs("h")
        def reduce(nodes: Any) -> Fields:
            return {"h": torch.sigmoid(nodes.data["x"] + linear(nodes.mailbox["h"][:, 0], of_state))}

        x = linear(self.model.embedding(graph.words), of_word, cell.bias)
        h = torch.empty_like(x)
        h[graph.roots] = torch.sigmoid(x[graph.roots] + of_state @ start)
        states: Tensor = graph.propagate({"x": x, "h": h}, reduce, None, counts)["h"]
        return states
