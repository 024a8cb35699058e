"""Instances that give several numbers of `forward`'s arguments: those that they leave out have their default values."""

# mypy: ignore-errors
from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import as_tensors, assert_same


class Encoder(nn.Module):
    """As that of a transformer: segments and a mask that instances may have."""

    def __init__(self):
        super().__init__()
        self.words, self.positions, self.types = nn.Embedding(20, 4), nn.Embedding(9, 4), nn.Embedding(2, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, input_ids: torch.Tensor, token_type_ids: torch.Tensor | None = None, mask=None):
        places = torch.arange(input_ids.size(1)).unsqueeze(0)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        x = self.words(input_ids) + self.positions(places) + self.types(token_type_ids)
        if mask is not None:
            x = x * mask.unsqueeze(-1)
        return self.out(x[:, 0]), x.mean(1)


class Scaled(nn.Module):
    """Arguments with default values of several kinds, one of which no instance gives."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, scale=2.0, times=3, how="sum", shift=None, never=1):
        for _ in range(times):
            x = torch.tanh(self.a(x)) * scale
        if shift is not None:
            x = x + shift
        return (x.sum(0) if how == "sum" else x.mean(0)) * never


class AllDefaults(nn.Module):
    def forward(self, text="", count=1):
        return len(text.split()) * count


class Whole(nn.Module):
    """One argument that may be a tuple, as PyTorch takes it."""

    def forward(self, x, scale=None):
        return len(x) if isinstance(x, tuple) else x


class Refined(nn.Module):
    """An argument whose default is an empty tuple, where instances give lists."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)

    def forward(self, source, draft=()):
        tokens = [1, *draft, 2]
        return self.words(torch.tensor(source)).sum(0) + self.words(torch.tensor(tokens)).sum(0), len(draft)


class Query(nn.Module):
    """Trees of tuples, beside a number in some instances: the tuple of the arguments is no tree."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)

    def encode(self, query):
        if query[0] == "e":
            return self.words.weight[query[1]]
        if query[0] == "p":
            return torch.tanh(self.encode(query[2])) * query[1]
        return torch.stack([self.encode(part) for part in query[1:]]).sum(0)

    def forward(self, query, k=2):
        return self.encode(query).topk(k).values


def ids(n):
    return torch.arange(n).unsqueeze(0) % 7


ENCODED = [
    ids(3),
    (ids(2), torch.ones(1, 2, dtype=torch.long)),
    (ids(4), None, torch.tensor([[1.0, 0.0, 1.0, 1.0]])),
    (ids(1),),
]
SCALED = [
    torch.randn(3, 4),
    (torch.randn(2, 4), 0.5),
    (torch.randn(1, 4), 0.5, 1, "mean"),
    (torch.randn(2, 4), 1.5, 0, "sum", 2.0),
]
E = ("p", 2, ("e", 3))
QUERIES = [(E,), (("and", E, ("e", 1)), 3), (("p", 1, ("or", E, E, ("e", 4))), 1), (("e", 5),)]
CASES = {
    "encoder": (Encoder, ENCODED),
    "scaled": (Scaled, SCALED),
    "all": (AllDefaults, ["a b", ("c", 4)]),
    "refined": (Refined, [([1, 2],), ([3], [4, 5]), ([6], [])]),
    "query": (Query, QUERIES),
}


def expected(model, instance):
    with torch.no_grad():
        return model(*copy.deepcopy(instance if type(instance) is tuple else (instance,)))


@pytest.mark.parametrize("case", CASES)
def test_as_in_eager_pytorch(case: str) -> None:
    torch.manual_seed(0)
    make, instances = CASES[case]
    model = make().eval()
    program = build(model, sample=instances)
    verify(program)
    interpreter = Interpreter(program)
    for k, instance in enumerate(instances):
        assert_same(as_tensors(interpreter.run(instance)), expected(model, instance), f"instance {k}")


def test_compiled(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Encoder().eval()
    executable = compile(model, sample=ENCODED, options=Options(codegen="vm"), checked=True, cache_folder=tmp_path)
    for batch in (ENCODED, ENCODED[:1], [(ids(5),), ids(2)]):
        for k, (mine, instance) in enumerate(zip(executable(batch), batch, strict=True)):
            assert_same(mine, expected(model, instance), f"instance {k}")


def test_a_tuple_that_the_model_takes_whole_is_one_argument() -> None:
    model, sample = Whole(), [(1, 2), torch.ones(3), (4, 5, 6)]
    interpreter = Interpreter(build(model, sample=sample))
    assert [as_tensors(interpreter.run(x)) for x in (sample[0], sample[2])] == [2, 3]
