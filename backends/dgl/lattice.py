"""Lattice LSTM: a node for every position of a sentence, and an edge for every arc.

An arc's cell is computed on its edge, as the message that it sends, and a node adds its messages up. Characters and words have
weights of their own, so each kind of edges in a frontier is computed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, Graph, GraphProgram, dgl
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_sentence, lattice_arcs, side_by_side
from workloads.lattice.model import Lattice, LatticeLSTM


class Program(GraphProgram[LatticeLSTM]):
    def __init__(self, model: LatticeLSTM) -> None:
        super().__init__(model)
        self.of_characters = _gates(model.character_i, model.character_f, model.character_o, model.character_u)
        self.of_words = _gates(model.word_i, model.word_f, model.word_o, model.word_u)

    def run(self, minibatch: Sequence[Lattice], counts: Counts) -> list[list[Tensor]]:
        """The scores of every character, sentence after sentence, each of shape [classes]."""
        model = self.model
        graph, lexicon, after = lattices(minibatch, counts)
        kinds = (
            (model.characters(graph.words), self.of_characters),
            (model.words(lexicon), self.of_words),
        )
        graph.graph.edata["x"] = torch.cat([linear(vectors, of_input, bias) for vectors, (of_input, _, bias) in kinds])
        graph.graph.edata["of_word"] = torch.arange(graph.graph.num_edges()) >= len(graph.words)
        h, c = (start.expand(graph.graph.num_nodes(), -1).contiguous() for start in (model.start_h, model.start_c))
        ends = graph.propagate({"h": h, "c": c}, self.add_up, None, counts, self.arcs)
        scores = model.classifier(ends["h"].index_select(0, after))
        counts.nodes, counts.batches = counts.nodes + len(scores), counts.batches + 1
        return by_sentence(scores.unbind(0), [lattice.characters for lattice in minibatch])

    def arcs(self, edges: Any) -> Fields:
        """What the arcs that end at a frontier give."""
        h, sums = edges.src["h"], edges.data["x"]
        of_word = edges.data["of_word"]
        for rows, (_, of_state, _) in ((~of_word, self.of_characters), (of_word, self.of_words)):
            chosen = rows.nonzero().squeeze(1)
            sums = sums.index_add(0, chosen, linear(h.index_select(0, chosen), of_state))
        i, f, o, u = sums.chunk(4, dim=1)
        c = torch.sigmoid(f) * edges.src["c"] + torch.sigmoid(i) * torch.tanh(u)
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}

    def add_up(self, nodes: Any) -> Fields:
        return {name: nodes.mailbox[name].sum(1) for name in ("h", "c")}


def lattices(instances: Sequence[Lattice], counts: Counts) -> tuple[Graph, Tensor, Tensor]:
    """The graph of lattices: a node for every position, sentence after sentence, and an edge for every arc, first those of
    characters, the graph's `words`, then those of words. Also the numbers of these words, and the node after each character."""
    with counts.ingesting():
        lengths, characters, words, sentences, begins, ends = lattice_arcs(instances)
        starts = np.cumsum(lengths + 1) - lengths - 1
        after = np.arange(len(characters)) + np.repeat(np.arange(len(lengths)), lengths) + 1
        source = torch.from_numpy(np.concatenate((after - 1, starts[sentences] + begins)))
        target = torch.from_numpy(np.concatenate((after, starts[sentences] + ends)))
    with counts.constructing():
        graph = dgl.graph((source, target), num_nodes=len(characters) + len(lengths))
    chars = torch.from_numpy(characters)
    return Graph(graph, chars, len(lengths), torch.from_numpy(starts)), torch.from_numpy(words), torch.from_numpy(after)


def _gates(*layers: nn.Linear) -> tuple[Tensor, Tensor, Tensor]:
    """The concatenated gates: the weights of inputs, the weights of states, and the biases."""
    weight, bias = side_by_side(*layers)
    of_input, of_state = weight.chunk(2, dim=1)
    return of_input, of_state, bias
