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
    """The words of all sentences step by step: step t has word t of every sentence that is longer than t, longest first.

    `words` and `reversed`: the words of the sentences read forwards, and read backwards. `steps`: how many sentences have a
    word at each step. `mirrored`: for each place in `words`, the place of the same word in `reversed`. `places`: for every word
    in the order given, sentence after sentence, its place in `words`. `ranks`: for every sentence its number in the order of
    lengths."""

    words: Tensor
    reversed: Tensor
    steps: list[int]
    mirrored: Tensor
    places: Tensor
    ranks: Tensor


def pack(sentences: Sequence[Sequence[int]], device: str) -> Packed:
    """Packs sentences and puts the index vectors on `device`. At least one sentence must have a word."""
    lengths = np.array([len(sentence) for sentence in sentences])
    flat = np.fromiter(chain.from_iterable(sentences), np.int64, int(lengths.sum()))
    ranks = np.empty(len(lengths), np.int64)
    ranks[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    steps = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]  # at t: the sentences longer than t
    begins = np.cumsum(steps) - steps
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    step = np.arange(len(flat)) - starts
    rank = np.repeat(ranks, lengths)
    places = begins[step] + rank
    places_reversed = begins[np.repeat(lengths, lengths) - 1 - step] + rank
    words, reversed_words, mirrored = (np.empty_like(flat) for _ in range(3))
    words[places] = flat
    reversed_words[places_reversed] = flat
    mirrored[places] = places_reversed
    arrays = (words, reversed_words, mirrored, places, ranks)
    forwards, backwards, *orders = (torch.from_numpy(array).to(device) for array in arrays)
    return Packed(forwards, backwards, steps.tolist(), *orders)
