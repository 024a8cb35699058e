"""Sentences of different lengths as index arrays: packed step by step, the longest first, as
`torch.nn.utils.rnn.pack_sequence` does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Packed(NamedTuple):
    """The words of all sentences step by step: at each step those of the sentences that have so many, the longest first.

    `words`, `reversed`: the words of sentences read forwards, and backwards. `steps`: how many sentences have a word at each
    step. `mirrored`: for the word in each place forwards its place backwards. `places`: for every word, one sentence after the
    other as they were given, its place forwards. `ranks`: of every sentence its number in the order of lengths."""

    words: Tensor
    reversed: Tensor
    steps: list[int]
    mirrored: Tensor
    places: Tensor
    ranks: Tensor


def pack(sentences: Sequence[Sequence[int]], device: str) -> Packed:
    lengths = np.array([len(sentence) for sentence in sentences])
    flat = np.fromiter(chain.from_iterable(sentences), np.int64, int(lengths.sum()))
    ranks = np.empty(len(lengths), np.int64)  # of each sentence in the order of lengths
    ranks[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    steps = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]  # with a word at step t: longer than t
    begins = np.cumsum(steps) - steps
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    step = np.arange(len(flat)) - starts
    rank = np.repeat(ranks, lengths)
    places = begins[step] + rank
    behind = begins[np.repeat(lengths, lengths) - 1 - step] + rank
    words, reversed_words, mirrored = (np.empty_like(flat) for _ in range(3))
    words[places] = flat
    reversed_words[behind] = flat
    mirrored[places] = behind
    arrays = (words, reversed_words, mirrored, places, ranks)
    forwards, backwards, other, own, order = (torch.from_numpy(each).to(device) for each in arrays)
    return Packed(forwards, backwards, steps.tolist(), other, own, order)
