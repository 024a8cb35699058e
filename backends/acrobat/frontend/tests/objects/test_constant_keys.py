"""Keys known at run time only, of every type, looked up among constants of the source: also floats, bools, tuples and None."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


@dataclass
class Token:
    word: str | None
    number: int | None


WORDS = {"a": 5, "b": 6, "UNK": 9}
NUMBERS: dict[Any, int] = {1: 5, 2: 6}
PAIRS = {(1, 0): 5, (0, 2): 6}
LIST_OF_PAIRS = [(1, 0), (2, 3)]
FLOATS = [1.0, 2.5]
BOOLS: dict[Any, int] = {True: 3, False: 4}
WITH_NONE = {"a": 1, None: 2}
TOKENS = [[Token("a", 1), Token(None, None)], [Token("b", None), Token("zz", 7), Token(None, 2)], [Token("q", 1)]]
INTS = [[1, 0], [0, 2, 3], [2]]


def optional_keys(self, xs):
    words = [WORDS.get(x.word, WORDS["UNK"]) for x in xs]
    return words, [NUMBERS.get(x.number, -2) for x in xs], [WORDS[x.word] + 1 if x.word in WORDS else 0 for x in xs]


def optional_members(self, xs):
    return (
        [x.word in WORDS for x in xs],
        [x.number in NUMBERS for x in xs],
        [x.word in ("a", "b") for x in xs],
        [x.word in ["a", None] for x in xs],
        [x.word not in WORDS for x in xs],
    )


def none_as_key(self, xs):
    return [x.word in WITH_NONE for x in xs], [WITH_NONE.get(x.word, 0) for x in xs]


def keys_of_made_containers(self, xs):
    places: dict[Any, int] = {}
    seen = set()
    for x in xs:
        if x.word is not None:
            places[x.word] = len(places)
            seen.add(x.word)
    return [places.get(x.word, -1) for x in xs], [x.word in places for x in xs], [x.word in seen for x in xs]


def tuples(self, xs):
    pairs = [(xs[i], xs[i + 1]) for i in range(len(xs) - 1)]
    return (
        [PAIRS.get((a, b), 0) for a, b in pairs],
        [PAIRS[a, b] + 1 if (a, b) in PAIRS else 0 for a, b in pairs],
        [LIST_OF_PAIRS.index((a, b)) if (a, b) in LIST_OF_PAIRS else -1 for a, b in pairs],
    )


def floats(self, xs):
    return (
        [float(x) in NUMBERS for x in xs],
        [NUMBERS.get(float(x), 0) for x in xs],
        [x in FLOATS for x in xs],
        [FLOATS.index(x / 2) if x / 2 in FLOATS else -1 for x in xs],
        [x / 2 in (1, 2) for x in xs],
    )


def bools(self, xs):
    return (
        [BOOLS[x > 1] for x in xs],
        [(x > 1) in NUMBERS for x in xs],
        [x in BOOLS for x in xs],
        [NUMBERS.get(x > 0, 7) for x in xs],
    )


MANY = {"Token": 1, "a": 2, "b": 3, "c": 4, "d": 5, "e": 6, "f": 7, "g": 8, "h": 9, "i": 10, "k": 11, "none": 12}


def _named(x):
    if x.word is None:
        return "none" if x.number is None else None
    return "zz" if x.word == "zz" else type(x).__name__


def one_of_a_few_constants(self, xs):
    names = [_named(x) for x in xs]
    return [0 if name is None else MANY.get(name, len(MANY)) for name in names], [name in MANY for name in names]


class Vocabulary(dict[str, int]):
    def __missing__(self, word: str) -> int:
        return len(word) - len(self)


VOCABULARY, LETTERS, SEEN = Vocabulary(WORDS), Vocabulary({chr(97 + i): i for i in range(26)}), Counter("aab")


def missing_keys(self, xs):
    words = [x.word for x in xs if x.word is not None]
    ids = [VOCABULARY[w] for w in words], [LETTERS[w] for w in words], [SEEN[w] for w in words]
    return ids, VOCABULARY["UNK"], VOCABULARY["never"], [VOCABULARY.get(w, 3) for w in words], [w in SEEN for w in words]


CASES = [
    (missing_keys, TOKENS),
    (one_of_a_few_constants, TOKENS),
    (optional_keys, TOKENS),
    (optional_members, TOKENS),
    (none_as_key, TOKENS),
    (keys_of_made_containers, TOKENS),
    (tuples, INTS),
    (floats, INTS),
    (bools, INTS),
]


@pytest.mark.parametrize(("function", "instances"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_interpreter(function: Any, instances: Any) -> None:
    agrees(with_forward(nn.Module(), function), instances)


def all_of_tokens(self, xs):
    found = optional_keys(self, xs), optional_members(self, xs), none_as_key(self, xs), keys_of_made_containers(self, xs)
    return found, missing_keys(self, xs)


def all_of_ints(self, xs):
    return tuples(self, xs), floats(self, xs), bools(self, xs)


@pytest.mark.parametrize(("function", "instances"), [(all_of_tokens, TOKENS), (all_of_ints, INTS)])
def test_generated_code(function: Any, instances: Any, tmp_path: Path) -> None:
    agrees_natively(with_forward(nn.Module(), function), instances, "vm", tmp_path)
