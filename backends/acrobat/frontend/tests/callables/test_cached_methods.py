"""Functions and bound methods with a cache of Python's that `__init__` makes: `self.encode = lru_cache(None)(self._encode)`."""

# mypy: ignore-errors

from __future__ import annotations

from functools import cache, lru_cache

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

WORDS = ["abc", "", "ccab", "zz", "abc"]


def squared(n):
    return n * n


class Coder:
    def __init__(self):
        self.ranks = {"a": 1, "b": 2, "c": 3}
        self.calls = 0
        self.encode = lru_cache(maxsize=None)(self._encode)
        self.pair = cache(self._pair)
        self.squared = lru_cache(squared)
        self.count = lru_cache(None)(self._count)
        self.fibonacci = lru_cache(None)(self._fibonacci)
        self.doubled = lru_cache(None)(self._doubled)
        self.table = lru_cache(None)(self._table)

    def _encode(self, word):
        symbols = list(word)
        while len(symbols) > 2:
            symbols = [*symbols[:-2], symbols[-2] + symbols[-1]]
        return [self.ranks.get(s, len(s)) for s in symbols]

    def _pair(self, word, n=1):
        return self.ranks.get(word, n), word + "x"

    def _count(self, word):
        self.calls += 1
        return self.calls

    def _fibonacci(self, n):
        return n if n < 2 else self.fibonacci(n - 1) + self.fibonacci(n - 2)

    def _doubled(self, x):
        return x * 2

    def _table(self, word):
        return {letter: len(word) + i for i, letter in enumerate(word)}


class WithCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.coder = Coder()
        self.embedding = nn.Embedding(9, 3)
        self.row = lru_cache(maxsize=8)(self._row)

    def _row(self, i):
        return self.embedding.weight[i] * 2


class Encoded(WithCoder):
    def forward(self, word):
        ids = self.coder.encode(word)
        if not ids:
            return self.row(len(word)), ids
        return self.embedding(torch.tensor(ids)).sum(0) + self.row(ids[0]), ids


class ByNameAndInMap(WithCoder):
    def forward(self, word):
        pairs = [self.coder.pair(word), self.coder.pair("a", n=5), self.coder.pair(n=len(word), word=word)]
        parts = [i for ids in map(self.coder.encode, [word, word + "b"]) for i in ids]
        return pairs, parts, sorted(word, key=self.coder.encode), self.coder.squared(len(word))


class Directly(WithCoder):
    """What the method gives without the cache is new each time."""

    def forward(self, word):
        ids = self.coder._encode(word)
        ids.append(7)
        return ids, self.coder.encode(word)


@pytest.mark.parametrize("model", [Encoded, ByNameAndInMap, Directly])
def test_a_cached_method_is_that_method(model):
    agrees(model(), WORDS)


class Changed(WithCoder):
    def forward(self, word):
        ids = self.coder.encode(word)
        ids.append(3)
        return ids


class Counting(WithCoder):
    def forward(self, word):
        return self.coder.count(word)


class CallingItself(WithCoder):
    def forward(self, word):
        return self.coder.fibonacci(len(word))


class EqualKeys(WithCoder):
    """`2` and `2.0` are one key."""

    def forward(self, word):
        return self.coder.doubled(len(word)), self.coder.doubled(len(word) * 1.0)


class MutableResult(WithCoder):
    def forward(self, word):
        return self.coder.table(word)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Changed, "`append` changes a list that may be seen under another name"),
        (Counting, "changes what was made outside of `forward`"),
        (CallingItself, "keeps results in `lru_cache` from one instance to the next, and calls itself"),
        (EqualKeys, "keeps results in `lru_cache` from one instance to the next, and its key has float"),
        (MutableResult, "keeps results in `lru_cache` from one instance to the next, and its result has a dict in it"),
    ],
)
def test_what_a_cache_would_show_is_refused(model, message):
    with pytest.raises(CompileError, match=message):
        build(model(), sample=WORDS)
