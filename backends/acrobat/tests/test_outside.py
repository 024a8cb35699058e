"""Instances and results whose Python values differ from the program's (tensors of varying extents, strings, dictionaries).
The readers and writers of compiled code and of the interpreter in C++ are compared with eager PyTorch, and their messages about
instances that do not fit are checked."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import assert_same


@dataclass
class Places:
    """A result: the positions of each word, and a count. Dictionaries with a default are returned as plain ones."""

    of: Any
    count: Any


class Extents(NamedTuple):
    """A result that is a tuple with names."""

    ids: int
    words: int


class Everything(nn.Module):
    """A model with a value of each kind in its instance and in its result."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.embedding = nn.Embedding(10, 4)

    def forward(self, instance):
        x = torch.relu(self.layer(instance["x"]))
        y = self.embedding(instance["ids"])
        if instance["op"] == "negate":
            x = -x
        counts = {word: len(instance["words"]) for word in instance["words"]}
        places: Any = defaultdict(list)
        for i, word in enumerate(instance["words"]):
            places[word].append(i)
        flags = instance["flags"]
        lengths = torch.tensor([float(len(xs)) for xs in instance["lists"]])
        table = instance["table"]["b"]
        return {
            "x": x,
            "columns": x.t(),
            "scores": x @ y.t(),
            "op": instance["op"],
            "counts": counts,
            "ids": instance["ids"],
            "flags": flags,
            "lengths": lengths,
            "table": table,
            "places": Places(places, Counter(instance["words"])),
            "extents": Extents(len(instance["ids"]), words=len(instance["words"])),
        }


def instance(n: int, m: int, op: str) -> dict[str, Any]:
    return {
        "x": torch.randn(n, 4, generator=torch.Generator().manual_seed(n)),
        "ids": torch.arange(m) * 3 % 10,
        "flags": torch.arange(n) % 2 == 0,
        "op": op,
        "words": ["a", "b", "a", op][:n],
        "table": {"b": 1, op: 2, "x y": 3},
        "lists": [[1] * k for k in range(n)],
    }


@pytest.fixture(scope="module", params=["aot", "vm"])
def models(request: pytest.FixtureRequest, cache: Path) -> tuple[Everything, Any]:
    torch.manual_seed(0)
    model = Everything().eval()
    sample = [instance(2, 3, "negate"), instance(3, 1, "keep"), instance(0, 2, "other"), instance(1, 0, "q")]
    options = Options(codegen=request.param)
    return model, compile(model, sample=sample, checked=True, cache_folder=cache, options=options)


def agrees(models: tuple[Everything, Any], instances: list[dict[str, Any]]) -> None:
    model, executable = models
    with torch.no_grad():
        wanted = [model(x) for x in instances]
    for i, (mine, theirs) in enumerate(zip(executable(instances), wanted, strict=True)):
        for value in mine.values():
            assert not isinstance(value, Tensor) or value.is_contiguous()
        assert_same(mine, theirs, f"instance {i}")
        assert all(value.dtype == theirs[k].dtype for k, value in mine.items() if isinstance(value, Tensor))


def test_values_go_in_and_come_out(models: tuple[Everything, Any]) -> None:
    agrees(models, [instance(3, 2, "negate"), instance(1, 1, "new"), instance(2, 0, "keep"), instance(4, 3, "newer")])
    agrees(models, [instance(1, 2, "negate")])  # numbers of strings are given anew for each mini-batch


LAID_OUT = {
    "transposed": {"x": torch.randn(4, 3).t()},
    "every other column": {"x": torch.randn(3, 8)[:, ::2]},
    "every other row": {"x": torch.randn(6, 4)[::2]},
    "negated": {"x": torch._neg_view(torch.randn(3, 4))},
    "needs a gradient": {"x": torch.randn(3, 4, requires_grad=True)},
    "32-bit ids, strided": {"ids": torch.arange(6, dtype=torch.int32)[::2]},
    "8-bit ids": {"ids": torch.tensor([5, 9], dtype=torch.uint8)},
}


def test_tensors_lie_in_memory_as_they_like(models: tuple[Everything, Any]) -> None:
    model, executable = models
    instances = [instance(3, 2, "negate") | other for other in LAID_OUT.values()]
    with torch.no_grad():
        wanted = [model(x | {"ids": x["ids"].long()}) for x in instances]
    for name, mine, theirs in zip(LAID_OUT, executable(instances), wanted, strict=True):
        assert_same(mine, theirs, name)


REFUSED: dict[str, tuple[dict[str, Any], str, bool]] = {
    "other extent": ({"x": torch.ones(3, 5)}, "at ['x']: expected a tensor of shape (n, 4), got one of shape (3, 5)", True),
    "no tensor": ({"x": 3}, "at ['x']: expected a tensor of shape (n, 4), got a value of type int", True),
    "float64": (
        {"x": torch.ones(3, 4).double()},
        "expected a tensor of torch.float32 and shape (n, 4), got one of torch.float64",
        False,
    ),
    "sparse": ({"x": torch.ones(3, 4).to_sparse()}, "got one whose memory cannot be read", False),
    "floats": ({"ids": torch.ones(3)}, "at ['ids']: expected a tensor of ints and shape (n,), got one of torch.float32", False),
    "ints": (
        {"flags": torch.tensor([0, 1])},
        "at ['flags']: expected a tensor of bools and shape (n,), got one of torch.int64",
        False,
    ),
    "no string": (
        {"words": ["a", 3]},
        "at ['words'][1]: expected a string or a member of an Enum, got a value of type int",
        True,
    ),
    "value of a dict": ({"table": {"b": "x"}}, "at ['table']['b']: expected an int, got a value of type str", True),
    "no dict": ({"table": [3]}, "at ['table']: expected a dict, got a value of type list", True),
    "other keys": ({"more": 1}, "expected a dict of flags, ids, lists, op, table, words, x, got a dict of x, ids, ", True),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_named(models: tuple[Everything, Any], kind: str) -> None:
    """If a sample with such an instance would have helped, the message gives that advice."""
    change, message, advised = REFUSED[kind]
    with pytest.raises(InstanceError) as error:
        models[1]([instance(3, 2, "keep"), instance(3, 2, "keep") | change])
    assert str(error.value).startswith("instance 1")
    assert message in str(error.value)
    assert str(error.value).endswith("; if instances may be so, add one to the sample") == advised
