"""Makes one DGL graph of a mini-batch, and sends messages along it, frontier by frontier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from backends.dgl.library import load
from backends.pytorch.batched import Counts
from backends.pytorch.programs import grid_cells

dgl = load()

Fields = dict[str, Tensor]
ModelT = TypeVar("ModelT", bound=nn.Module)


class GraphProgram(Generic[ModelT]):
    """A workload's program: `run` computes whole mini-batches with the weights of `model`."""

    has_tables = False

    def __init__(self, model: ModelT) -> None:
        self.model = model


@dataclass
class Graph:
    """A graph whose edges run from a node to those that are computed from it. `leaves` is the number of nodes without
    predecessors; in trees they come first. `words`: the words of the nodes in their order, or of the leaves where other nodes
    have none. `roots`: the root of each tree, all cells of a grid, or the nodes where chains begin."""

    graph: Any
    words: Tensor
    leaves: int
    roots: Tensor

    def propagate(
        self,
        fields: Mapping[str, Tensor],
        reduce: Callable[[Any], Fields],
        apply: Callable[[Any], Fields] | None,
        counts: Counts,
        message: Callable[[Any], Fields] | None = None,
    ) -> Any:
        """Computes every node and returns all fields, by name. `fields` are the fields before, with a row for every node; those
        of nodes without predecessors have their final values. `reduce` gets nodes of equal degree with their messages: what
        `message` gives for the edges to a frontier or, without it, the fields of their predecessors that `needs` names. `apply`
        then gets all nodes of a frontier."""
        graph = self.graph
        if message is None:
            names: Sequence[str] = reduce.needs  # type: ignore[attr-defined]

            def message(edges: Any) -> Fields:
                return {name: edges.src[name] for name in names}

        graph.ndata.update(fields)
        with counts.scheduling():
            _, *frontiers = dgl.topological_nodes_generator(graph)
        counts.nodes += graph.num_nodes()
        counts.batches += len(frontiers) + 1
        graph.prop_nodes(frontiers, message, reduce, apply)
        return graph.ndata


def needs(*names: str) -> Callable[[Callable[[Any], Fields]], Callable[[Any], Fields]]:
    """A decorator that says which fields of the predecessors a function for `Graph.propagate` needs."""

    def mark(function: Callable[[Any], Fields]) -> Callable[[Any], Fields]:
        function.needs = names  # type: ignore[attr-defined]
        return function

    return mark


def trees(
    instances: Sequence[Any], leaf: type[Any], children: Callable[[Any], Sequence[Any]], counts: Counts, heads: bool = False
) -> Graph:
    """The graph of trees. `leaf` is the class of leaves, which have a `word`; `children` gives the children of any other node;
    `heads` says that these have a `word`, too."""
    words: list[int] = []
    headed: list[int] = []
    sources: list[int] = []  # leaves are 0, 1, ...; other nodes are -1, -2, ... until the number of leaves is known
    targets: list[int] = []
    inner = 0

    def visit(tree: Any) -> int:
        nonlocal inner
        if type(tree) is leaf:
            words.append(tree.word)
            return len(words) - 1
        below = [visit(child) for child in children(tree)]
        inner += 1
        sources.extend(below)
        targets.extend([-inner] * len(below))
        if heads:
            headed.append(tree.word)
        return -inner

    with counts.ingesting():
        roots = [visit(tree) for tree in instances]
        ends = np.array([*sources, *targets, *roots], np.int64)
        numbers = torch.from_numpy(np.where(ends < 0, len(words) - 1 - ends, ends))
        source, target, root = numbers.split([len(sources), len(targets), len(roots)])
        every_word = torch.tensor(words + headed, dtype=torch.int64)
    with counts.constructing():
        graph = dgl.graph((source, target), num_nodes=len(words) + inner)
    return Graph(graph, every_word, len(words), root)


def grids(instances: Sequence[list[list[int]]], counts: Counts) -> Graph:
    """The graph of grids: a node for every cell, row by row. `leaves`, the upper left corners, do not come first."""
    with counts.ingesting():
        words, width, inside = grid_cells(instances)
        nodes = np.arange(len(words))
        below, right = nodes[inside >= width], nodes[inside % width > 0]
        source = torch.from_numpy(np.concatenate((below - width[below], right - 1)))
        target = torch.from_numpy(np.concatenate((below, right)))
    with counts.constructing():
        graph = dgl.graph((source, target), num_nodes=len(words))
    return Graph(graph, torch.from_numpy(words), len(instances), torch.from_numpy(nodes))


def chains(instances: Sequence[Sequence[int]], backwards: bool, counts: Counts) -> Graph:
    """The graph of sentences: a node for every word, sentence after sentence, with an edge to the next word, or, `backwards`,
    to the one before. `roots` are the nodes that no edge leads to. There must be at least one word."""
    with counts.ingesting():
        lengths = np.array([len(sentence) for sentence in instances])
        words = np.fromiter(chain.from_iterable(instances), np.int64, int(lengths.sum()))
        first = np.cumsum(lengths) - lengths
        nodes = np.arange(len(words))
        later = np.setdiff1d(nodes, first)  # a sentence without words begins where the next does
        source, target = (later, later - 1) if backwards else (later - 1, later)
        ends = (first + lengths - 1)[lengths > 0] if backwards else first[lengths > 0]
    with counts.constructing():
        graph = dgl.graph((torch.from_numpy(source), torch.from_numpy(target)), num_nodes=len(words))
    return Graph(graph, torch.from_numpy(words), len(ends), torch.from_numpy(ends))


def full(leaves: Tensor, nodes: int) -> Tensor:
    """A field with `nodes` rows, of which only the first, the rows of `leaves`, have values."""
    field = leaves.new_empty(nodes, *leaves.shape[1:])
    field[: len(leaves)] = leaves
    return field
