"""Lines of a text file, and the words of real and of generated text as ids."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np


class DataError(ValueError):
    """A data file that cannot be read; the message names the place."""


def lines(path: str | Path) -> list[tuple[int, str]]:
    """The lines with something on them, with their numbers. There is at least one."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    found = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not found:
        raise DataError(f"{path}: the file is empty")
    return found


def word_id(word: str, vocabulary: int) -> int:
    """The row of a word: a hash that is the same in every process and every file."""
    return crc32(word.encode()) % vocabulary


def draw_words(random: np.random.Generator, n: int, vocabulary: int) -> list[int]:
    """`n` ids of which the one of rank r is drawn in proportion to about 1 / r, as words are (Zipf)."""
    return [int((vocabulary + 1) ** u) - 1 for u in random.random(n)]
