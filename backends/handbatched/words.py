"""Products of words' vectors with a weight, computed for the words of a mini-batch or looked up."""

from __future__ import annotations

from torch import Tensor

from backends.handbatched.products import Activation, product
from backends.handbatched.setting import Setting


class WordProducts:
    """The products of the rows of `vectors` [vocabulary, in] with `weight` [out, in], plus `bias`, and the
    `activation` of them. With `Setting.tables` those of the whole vocabulary are computed now, and else those of a mini-batch's
    words when they are asked for, in one product."""

    def __init__(
        self, setting: Setting, vectors: Tensor, weight: Tensor, bias: Tensor, activation: Activation = "none"
    ) -> None:
        multiply = product(setting.library, weight, bias, activation)
        self.rows = multiply(vectors) if setting.tables else vectors
        self.multiply = None if setting.tables else multiply

    def __call__(self, words: Tensor) -> Tensor:
        """The products of the words with these numbers: [words, out]. The tensor is new and may be changed."""
        rows = self.rows.index_select(0, words)
        return self.multiply(rows) if self.multiply else rows
