"""Beam search: the sizes, parameters and sentences of `workloads.seq2seq`, with a beam of 4 (tiny: 3).

A hypothesis that has ended leaves the beam, so translations are shorter than greedy ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from workloads.seq2seq import spec as seq2seq


class Spec(seq2seq.Spec):
    """`data` is a file with one sentence a line, tokens `word` or `word|tag`; None generates sentences."""

    name = "beam"
    model_class = "Beam"
    shapes: ClassVar[Mapping[str, Mapping[str, int]]] = {
        size: {**shape, "width": 3 if size == "tiny" else 4} for size, shape in seq2seq.Spec.shapes.items()
    }
    cells: ClassVar[Sequence[str]] = ("step", "log_probabilities")

    def margins(self, model: Any, instance: Any) -> list[float]:
        """One margin, the smallest of the whole search (`Beam.nearest`): any choice can change every word of the answer."""
        return [model.nearest(instance)]
