"""Words of real and of generated text as ids."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def word_id(word: str, vocabulary: int) -> int:
    """The row of a word: a hash that is the same in every process and every file."""
    return crc32(word.encode()) % vocabulary


def draw_words(random: np.random.Generator, n: int, vocabulary: int) -> list[int]:
    """`n` ids of which the one of rank r is drawn in proportion to 1 / r, as words are (Zipf)."""
    return [int(vocabulary**u) - 1 for u in random.random(n)]
