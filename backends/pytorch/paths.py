"""The last step of Viterbi's algorithm: best paths from pointers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def read_off(pointers: np.ndarray, last: np.ndarray, lengths: Sequence[int]) -> list[list[int]]:
    """The best path of each sentence. The words of all sentences follow one another; `lengths` says how many each has.
    `pointers` [words, tags]: for each tag of a word, the best tag of the word before (not used for first words). `last`
    [words]: the best tag of each word if the sentence ended with it."""
    paths = []
    end = 0
    for length in lengths:
        end += length
        path: list[int] = []
        for word in range(end - 1, end - 1 - length, -1):
            path.append(int(pointers[word + 1, path[-1]] if path else last[word]))
        paths.append(path[::-1])
    return paths
