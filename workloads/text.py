"""Lines of a text file, and the words of real and of generated text as ids."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

MAX_WORDS = 10_000
"""The most words that a line may have; a longer line is a text that was not split into sentences."""
MAX_LETTERS = 1_000
"""The most letters that a word may have."""


class DataError(ValueError):
    """A data file that cannot be read; the message names the place."""


@dataclass(frozen=True)
class Shuffled:
    """A data file as new instances: its lines in an order drawn from `seed`, and each word with another id."""

    path: str
    seed: int

    def __str__(self) -> str:
        return self.path


def lines(path: str | Path | Shuffled) -> list[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1 on; a byte order mark is dropped. Raises DataError if there are
    none or the file cannot be read as UTF-8."""
    if isinstance(path, Shuffled):
        numbered = lines(path.path)
        return [numbered[i] for i in np.random.default_rng(path.seed).permutation(len(numbered))]
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{path}:1:1: the file is in UTF-16 and must be in UTF-8: iconv -f UTF-16 -t UTF-8 converts it")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        raise DataError(f"{path}:{line}:{column}: the byte 0x{data[error.start]:02x} cannot be decoded as UTF-8") from error
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        raise DataError(f"{path}: the file is empty")
    return numbered


def check_words(words: Iterable[tuple[str, int]], where: str) -> None:
    """Raises DataError for a line that is too long to be one sentence. `words` are (word, position in the line from 0 on)."""
    for count, (word, start) in enumerate(words, 1):
        if len(word) > MAX_LETTERS:
            raise DataError(f"{where}:{start + 1}: a word of {len(word)} letters; {MAX_LETTERS} are the most")
        if count > MAX_WORDS:
            raise DataError(f"{where}:{start + 1}: more than {MAX_WORDS} words in one line; there must be one sentence a line")


def word_id(word: str, vocabulary: int, source: object = None) -> int:
    """The id of a word, from 0 to `vocabulary` - 1: a hash, the same in every process. A `Shuffled` source gives other ids."""
    renamed = f"{source.seed} {word}" if isinstance(source, Shuffled) else word
    return crc32(renamed.encode()) % vocabulary


def draw_words(random: np.random.Generator, n: int, vocabulary: int) -> list[int]:
    """`n` random ids by Zipf's law: the probability of id k is about proportional to 1 / (k + 1)."""
    return [int((vocabulary + 1) ** u) - 1 for u in random.random(n)]
