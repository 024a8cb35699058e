"""Lattice LSTM: sizes, parameters and generated lattices.

Hidden size 256 (small) and 512 (large), and embeddings as wide; 13 classes, as in the MSRA corpus of names: beginning, inside,
end or single for each of three kinds of names, and one class for no name.

Lattices are generated with statistics of real ones. Sentences of the MSRA corpus have 48.3 characters on average (its training
part, 2,171,573 characters in 45,000 sentences: README of `NER/MSRA` in github.com/OYE93/Chinese-NLP-Corpus; Zhang and Yang 2018
use that corpus among others). The rest is counted on the first nineteen of the 316 lattices that ED-Batch (Chen et al. 2023) is
evaluated on, `benchmark/data/lattice/test.txt` of github.com/gulang2019/ED-Batch: lengths vary by four tenths of their mean;
four words end at ten characters, of which nine in ten have two characters and the others three or four. The largest numbers of
a character and of a word there are 2,288 and 11,224; they are rounded up to 2,500 and 12,000 here. That characters and words
are drawn by Zipf's law, and words independently of each other, is our assumption. At size tiny sentences have 8 characters on
average.

| parameter | shape |
| --- | --- |
| characters.weight, words.weight | their number, hidden |
| start_h, start_c | hidden |
| character_i.weight, .bias, and so for f, o, u (columns: character, then state) | hidden, 2 hidden; hidden |
| word_i.weight, .bias, and so for f, o, u (columns: word, then state) | hidden, 2 hidden; hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads.spec import ModelSpec
from workloads.text import draw_words

MEAN_LENGTH, SPREAD_LENGTH, MIN_LENGTH, MAX_LENGTH = 48.3, 19.3, 2, 140
TINY_MEAN, TINY_SPREAD = 8.0, 4.0
ENDING: Mapping[int, float] = {2: 0.36, 3: 0.02, 4: 0.02}
"""The probability that a word of a length ends at a given character, by that length in characters."""


class Spec(ModelSpec):
    name = "lattice"
    model_class = "LatticeLSTM"
    shapes: ClassVar = {
        "tiny": {"characters": 60, "words": 90, "hidden": 16, "classes": 7},
        "small": {"characters": 2_500, "words": 12_000, "hidden": 256, "classes": 13},
        "large": {"characters": 2_500, "words": 12_000, "hidden": 512, "classes": 13},
    }
    gains: ClassVar = {"classifier": 3.0}
    cells = ("character_arc", "word_arc")

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.lattice.model import Lattice, Word

        mean, spread = (TINY_MEAN, TINY_SPREAD) if shape["hidden"] == 16 else (MEAN_LENGTH, SPREAD_LENGTH)
        variance = np.log1p((spread / mean) ** 2)
        lattices: list[Any] = []
        for _ in range(n):
            drawn = np.rint(random.lognormal(np.log(mean) - variance / 2, variance**0.5))
            length = int(np.clip(drawn, MIN_LENGTH, MAX_LENGTH))
            words: list[list[Word]] = [[] for _ in range(length)]
            for last in range(length):
                for size, probability in ENDING.items():
                    if random.random() < probability and size <= last + 1:
                        words[last].append(Word(draw_words(random, 1, shape["words"])[0], last + 1 - size))
            lattices.append(Lattice(draw_words(random, length, shape["characters"]), words))
        return lattices
