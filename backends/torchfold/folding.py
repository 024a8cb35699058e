"""Runs a mini-batch as one fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from backends.pytorch.batched import Counts
from backends.torchfold.library import load
from bench.contract import Instance, Outputs

Fold = load()
ModelT = TypeVar("ModelT", bound=nn.Module)
Node = Any
"""An operation in a fold, used as an argument of others in place of its result."""


class Operations(Protocol):
    """A workload's model: its methods are the operations, from batches of arguments to batches of results."""

    def add(self, fold: Any, instance: Instance) -> list[Node]:
        """Add the operations of an instance, and return those whose results the outputs are made of."""
        ...

    def outputs(self, minibatch: Sequence[Instance], results: Tensor) -> Outputs:
        """The outputs, from the results of the operations that `add` returned: one row for each, instance after instance."""
        ...


class ModelOperations(Generic[ModelT]):
    """Operations with the weights of `model`. Unless a workload says otherwise, the one result of an instance is its output."""

    def __init__(self, model: ModelT) -> None:
        self.model = model

    def outputs(self, minibatch: Sequence[Any], results: Tensor) -> list[Any]:
        return list(results)

    def classify(self, states: Tensor) -> Tensor:
        """The operation of models that classify states: the scores [states, classes]."""
        model: Any = self.model
        scores: Tensor = model.classifier(states)
        return scores


class Folding:
    """A workload's operations behind what the backend calls: `run` gives the outputs of a mini-batch and counts its work."""

    has_tables = False

    def __init__(self, operations: Operations) -> None:
        self.operations = operations

    def run(self, minibatch: Sequence[Instance], counts: Counts) -> Outputs:
        with counts.constructing():
            fold = Fold()
            wanted = [node for instance in minibatch for node in self.operations.add(fold, instance)]
        counts.nodes = sum(len(calls) for step in fold.steps.values() for calls in step.values())
        counts.batches = sum(map(len, fold.steps.values()))
        if not wanted:  # TorchFold cannot join nothing
            return self.operations.outputs(minibatch, torch.empty(0, 1))
        (results,) = fold.apply(self.operations, [wanted])
        return self.operations.outputs(minibatch, results)
