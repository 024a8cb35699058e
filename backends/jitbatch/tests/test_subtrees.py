"""Calls on equal structures: which of them are deferred as one call, what they share, and which cannot be deferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.jitbatch.backend import JitBatch
from backends.jitbatch.kinds import Kinds
from backends.jitbatch.model import Model
from backends.jitbatch.prepare import prepare
from backends.jitbatch.subtrees import DeferredSubtree, Structures, recursive_methods
from bench.contract import Target
from workloads.tests.conftest import spec
from workloads.treelstm.model import Leaf, Node


def treelstm() -> Model:
    return JitBatch(Target(), "subtree").compile(spec("treelstm"), "tiny", 3, 6)


def pair(a: int, b: int) -> Node:
    return Node([Leaf(a), Leaf(b)])


def test_structures_are_equal_but_for_their_ints() -> None:
    known = Structures()
    number = known.number
    assert number(pair(1, 2)) == number(pair(3, 4)) > 0
    assert len({number(t) for t in (Leaf(1), pair(1, 2), Node([Leaf(1)]), Node([pair(1, 2), Leaf(1)]))}) == 4
    assert number([True]) != number([False])
    assert number([1.0]) == number([1.0]) != number([2.0])
    assert number([torch.ones(1)]) == number([[torch.ones(1)], 3]) == number(object()) == -1


def test_equal_trees_are_one_batch_at_each_of_their_levels() -> None:
    model = treelstm()
    outputs = model.run([Node([pair(1, 2), Leaf(3)]), Node([pair(4, 5), Leaf(6)])])
    found = model.counters()
    assert found["recorded"] == 2 + 2  # the two trees, and the classifiers of their roots
    assert found["nodes"] == 2 * (3 + 3 + 2 + 1)  # word vectors, leaves, inner nodes, classifiers
    assert found["batches"] == 1 + 1 + 2 + 1
    assert not torch.allclose(outputs[0], outputs[1]), "equal structures, other words"


def test_what_comes_once_is_deferred_by_its_parts() -> None:
    model = treelstm()
    model.run([Node([pair(1, 2), Leaf(3)]), pair(4, 5)])
    # Recorded: the pair, twice; the leaf beside it (leaves occur often); the larger root, which is a cell; two classifiers.
    assert model.counters()["recorded"] == 2 + 1 + 1 + 2


def test_plans_are_kept_for_equal_structures_of_other_numbers() -> None:
    model = treelstm()
    model.run([pair(1, 2), pair(3, 4)])
    assert model.counters()["analyses"] == 1
    model.run([pair(5, 6), pair(7, 8)])
    assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (0, 1)
    model.run([pair(5, 6), Node([pair(7, 8), Leaf(1)])])
    assert model.counters()["analyses"] == 1


@dataclass(frozen=True)
class Item:
    word: int
    below: Item | None


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.cell = nn.Linear(4, 4)

    def forward(self, item: Item) -> Tensor:
        return self.encode(item)

    def encode(self, item: Item) -> Tensor:
        x = self.row(item)
        return x if item.below is None else torch.tanh(self.cell(self.encode(item.below))) + x

    def row(self, item: Item) -> Tensor:
        return self.words.weight[item.word]


class Compares(Base):
    def row(self, item: Item) -> Tensor:
        return self.words.weight[item.word if item.word > 4 else 0]


class Calculates(Base):
    def row(self, item: Item) -> Tensor:
        return self.words.weight[item.word - 1]


class Matches(Base):
    def row(self, item: Item) -> Tensor:
        match item.word:
            case 7:
                return self.words.weight[2]
        return self.words.weight[item.word]


class Scales(Base):
    def row(self, item: Item) -> Tensor:
        return self.words.weight[1] * item.word


class Makes(Base):
    def row(self, item: Item) -> Tensor:
        return self.words.weight[item.word] + torch.full((4,), 0.5)


class WaitsUnseen(Base):
    def row(self, item: Item) -> Tensor:
        x = self.words.weight[item.word]
        return x if x[0] > 0 else -x


class Waits(Base):
    def row(self, item: Item) -> Tensor:
        x = self.words.weight[item.word]
        return x if x[0].item() > 0 else -x


def outputs(cls: type[Base]) -> tuple[list[Tensor], list[Tensor], dict[str, Any]]:
    """The outputs of jitbatch, those of eager PyTorch, and jitbatch's counters."""
    torch.manual_seed(0)
    eager = cls().eval().requires_grad_(False)
    module: Any = cls().eval().requires_grad_(False)
    module.load_state_dict(eager.state_dict())
    minibatch = [Item(a, Item(b, Item(c, None))) for a, b, c in ((1, 7, 3), (5, 6, 7), (8, 2, 4))]
    structures, refused = Structures(), {}  # type: ignore[var-annotated]
    prepare(module).__dict__["encode"] = DeferredSubtree("encode", module.encode, structures, refused)
    model = Model(module, Kinds(torch.device("cpu")), True, refused, structures)
    return model.run(minibatch), [eager(item) for item in minibatch], dict(model.counters())


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (Base, None),
        (Compares, "an int of the instance is used for more than the index of a row"),
        (Calculates, "an int of the instance is used for more than the index of a row"),
        (Matches, "an int of the instance is used for more than the index of a row"),
        (Scales, "an int of the instance is used for more than the index of a row"),
        (Makes, "makes tensors of its own"),
        (WaitsUnseen, "waits for a tensor's value"),
        (Waits, "waits for a tensor's value"),
    ],
)
def test_a_call_that_needs_more_than_its_structure_is_not_deferred(cls: type[Base], reason: str | None) -> None:
    found, right, counters = outputs(cls)
    for output, each in zip(found, right, strict=True):
        torch.testing.assert_close(output, each)
    if reason is None:
        assert counters["unbatched"] == {}
        assert counters["recorded"] == 3
    else:
        assert reason in counters["unbatched"]["encode"]


def test_recursive_methods_are_found() -> None:
    assert recursive_methods(Base()) == (["encode"], [])
    assert recursive_methods(Waits()) == ([], ["encode"])
    for name, methods in (("treelstm", ["encode"]), ("treefc", ["forward"]), ("birnn", []), ("stackrnn", [])):
        assert recursive_methods(spec(name).model("tiny")) == (methods, [])
    assert recursive_methods(spec("drnn").model("tiny")) == ([], ["grow", "subtree"])


def test_structures_are_numbered_anew_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.jitbatch.subtrees.MOST_STRUCTURES", 3)
    model = treelstm()
    model.run([pair(1, 2), pair(3, 4)])
    model.run([Leaf(1), Node([Leaf(1), Leaf(2), Leaf(3)])])
    others = [Node([Leaf(1)]), Node([Leaf(2)])]  # they get the numbers that the pairs had
    assert all(torch.equal(a, b) for a, b in zip(model.run(others), treelstm().run(others), strict=True))
    assert model.structures is not None
    assert model.structures.generation == 1
