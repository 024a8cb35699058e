"""Sentences as word ids: a reader of one sentence a line and a generator with WikiNER-like lengths.

The WikiNER dev sentences (Nothman et al. 2013) have 23.0 tokens on average, with standard deviation 13.1, between 1 and 144.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from workloads.spec import ModelSpec
from workloads.text import Shuffled, check_words, draw_words, lines, word_id

TOKEN = re.compile(r"\S+")
MEAN_LENGTH, SPREAD_LENGTH, MIN_LENGTH, MAX_LENGTH = 23.0, 13.1, 1, 144


def take(data: str | Shuffled | None, random: np.random.Generator, vocabulary: int, n: int) -> list[list[int]]:
    """`n` sentences of the file `data`; if it is None, generated sentences. A sentence is a list of word ids."""
    if data is None:
        return list(islice(generate(random, vocabulary), n))
    return read(data, vocabulary, n)


def read(path: str | Path | Shuffled, vocabulary: int, n: int) -> list[list[int]]:
    """The first `n` sentences of the file, one a line, beginning again if it has fewer. Blanks separate tokens; of `word|tag`
    only the word counts. Blank lines are left out. Raises DataError."""
    sentences = [
        [word_id(token.rpartition("|")[0] or token, vocabulary, path) for token in line.split()] for _, line in lines(path)[:n]
    ]
    return list(islice(cycle(sentences), n))


def check(path: str | Path) -> None:
    """Read the whole file. Raises DataError with the place of what is wrong."""
    for number, line in lines(path):
        check_words(((match.group(), match.start()) for match in TOKEN.finditer(line)), f"{path}:{number}")


def generate(random: np.random.Generator, vocabulary: int) -> Iterator[list[int]]:
    """Endlessly many random sentences. Words follow Zipf's law; lengths are log-normal, cut to WikiNER's range."""
    spread = np.log1p((SPREAD_LENGTH / MEAN_LENGTH) ** 2)
    while True:
        length = np.rint(random.lognormal(np.log(MEAN_LENGTH) - spread / 2, spread**0.5))
        yield draw_words(random, int(np.clip(length, MIN_LENGTH, MAX_LENGTH)), vocabulary)


class SentenceSpec(ModelSpec):
    """A workload whose instances are sentences, from the file `data` or generated if it is None."""

    def __init__(self, data: str | None = None) -> None:
        self.data = data

    def check(self, size: str) -> None:
        if self.data is not None:
            check(self.data)

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        return take(self.data, random, shape["vocabulary"], n)
