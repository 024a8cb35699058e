"""Constant dictionaries that are looked up by keys of run time: vocabularies, sparse tables, tables of settings."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees

WORDS = [f"word{i}" for i in range(200)]


class Vocabulary:
    def __init__(self):
        self.stoi = {w: i + 1 for i, w in enumerate(WORDS)}
        self.tags = {"DET": "the", "NOUN": "a", **dict.fromkeys(WORDS[:20], "x")}

    def __getitem__(self, word):
        return self.stoi.get(word, 0)

    def __len__(self):
        return len(self.stoi) + 1


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.vocabulary = Vocabulary()
        self.word_to_ix = {w: i for i, w in enumerate(reversed(WORDS))}
        self.sparse = {i * i * 1000: i % 7 for i in range(40)}
        self.dense = {i: 0.5 * i for i in range(5, 45)}
        self.embed = nn.Embedding(201, 4)

    def words(self, xs):
        return self.embed(torch.tensor([self.word_to_ix[w] for w, _ in xs]))

    def unknown(self, xs):
        return torch.stack([self.embed(torch.tensor(self.vocabulary.stoi.get(w, 0))) for w, _ in xs])

    def wrapped(self, xs):
        return [self.vocabulary[w] for w, _ in xs], len(self.vocabulary)

    def membership(self, xs):
        return [w in self.word_to_ix for w, _ in xs] + [n in self.sparse for _, n in xs]

    def searched(self, xs):
        return [self.sparse.get(n, -1) for _, n in xs] + [self.sparse[n] for _, n in xs if n in self.sparse]

    def floats(self, xs):
        return [self.dense.get(n, 0.25) for _, n in xs]

    def strings(self, xs):
        return [self.vocabulary.tags.get(w, "none") for w, _ in xs]


XS = [
    [("word3", 9000), ("word199", 7)],
    [("word0", 1521000), ("word17", 44)],
    [("word150", 0), ("word20", 4), ("word19", 45)],
    [("word1", -5), ("word2", 5)],
]
NAMES = ["words", "unknown", "wrapped", "membership", "searched", "floats", "strings"]


@pytest.mark.parametrize("name", NAMES)
def test_as_in_eager_pytorch(name: str) -> None:
    model = Model()
    model.forward = getattr(model, name)
    agrees(model, XS)


TWICE = [*WORDS[:40], *reversed(WORDS[:50])]
FAR = [i * i * 1000 for i in (*range(40), *reversed(range(45)))]


class Twice(nn.Module):
    def forward(self, xs):
        return [(TWICE.index(word), FAR.index(number * number * 1000)) for word, number in xs]


def test_the_first_of_equal_constants_is_found() -> None:
    agrees(Twice(), [[("word3", 3), ("word45", 41)], [("word0", 0)], [("word39", 39)]])


class All(Model):
    def forward(self, xs):
        return self.words(xs), self.searched(xs), self.floats(xs), self.strings(xs), self.membership(xs)


def test_natively(codegen: str, tmp_path) -> None:
    model = All().eval()
    executable = compile(model, sample=XS, options=Options(codegen=codegen), cache_folder=tmp_path)
    with torch.no_grad():
        for mine, theirs in zip(executable(XS), map(model, XS), strict=True):
            assert torch.equal(mine[0], theirs[0])
            assert mine[1:] == theirs[1:]
    with pytest.raises(InstanceError, match="KeyError: 'missing'"):
        executable([[("missing", 3)]])
    if codegen == "aot":
        assert "static constexpr int64_t" in executable.source.read_text()
