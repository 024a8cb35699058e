"""Tensors of several fixed shapes in one place, such as a map of one channel on one path and one of sixteen on another.

An extent in which they differ counts as one that varies, for which one program does. But what varies is broadcast in a few
places only (`tensors/lifting.py`). So where such a tensor meets a fixed extent, or where no extent that varies covers the
shapes, the next attempt has a mixed union of them there, in which a shape is a type of its own (`choices/each_type.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from backends.acrobat.core.types import TensorT, TensorWord, tensor_word
from backends.acrobat.frontend.tensor_types import extents, innermost, is_rows, kind_and_rank

Shape = tuple[int | None, ...]
SEVERAL = 6
"""So many shapes are told apart in one place at most: each is a case of its own wherever the value is used."""


def by_shape(types: Collection[Any]) -> dict[str, list[Any]]:
    """Types of tensors of floats of one rank by words, with the shape behind the rank; those whose fixed extents agree have one
    word. Empty if others are among them."""
    groups: list[tuple[Shape, list[Any]]] = []
    for t in types:
        shape, inside = _shape(t), [t]
        if shape is None or groups and len(groups[0][0]) != len(shape):
            return {}
        while (other := next((g for g in groups if _agree(g[0], shape)), None)) is not None:
            groups.remove(other)
            shape = tuple(x if x == y else None for x, y in zip(shape, other[0], strict=True))
            inside = other[1] + inside
        groups.append((shape, inside))
    return {word_of_shape(shape): inside for shape, inside in groups}


def word_of_shape(shape: Shape) -> TensorWord:
    """The word for tensors of floats of a shape."""
    return tensor_word("tensor", len(shape), shape)


class FixedShapes:
    """Which shapes one round of compiling has joined to one with extents that vary."""

    def __init__(self) -> None:
        self._joined: dict[Shape, set[str]] = {}  # shape -> the words of those joined to it
        self._ones: set[tuple[Shape, int]] = set()  # such a shape, and a dimension in which one of those has the extent 1
        self.broadcast: list[frozenset[str]] = []  # shapes, one of which is broadcast in some instances, as their words

    def note_joined(self, types: Sequence[Any], whole: Any) -> None:
        """Note that values of these types are of the type `whole` in one place."""
        shape = _shape(whole)
        if shape is None or None not in shape or len(types) < 2 or not kind_and_rank(whole):
            return
        shapes = [s for s in map(_shape, types) if s is not None and len(s) == len(shape) and s != shape]
        if shape in self._joined or len(by_shape(types)) > 1:
            self._joined.setdefault(shape, set()).update(map(word_of_shape, shapes))
            self._ones |= {(shape, d) for s in shapes for d, e in enumerate(s) if e == 1 and shape[d] is None}

    def joined(self) -> list[frozenset[str]]:
        """The shapes that were joined to each one with extents that vary, as their words, if they are few."""
        return [frozenset(words) for words in self._joined.values() if len(words) <= SEVERAL]

    def note_met(self, shape: Shape, other: Shape) -> None:
        """Note that tensors of these shapes are computed with element by element."""
        for d in range(1, min(len(shape), len(other)) + 1):
            met = other[-d]
            if met is not None and met > 1 and (shape, len(shape) - d) in self._ones and len(self._joined[shape]) <= SEVERAL:
                self.broadcast.append(frozenset(self._joined[shape]))


def _shape(type: Any) -> Shape | None:
    """The extents of a tensor of floats, None for one that varies; None for other types."""
    floats = isinstance(inner := innermost(type), TensorT) and inner.dtype == "float32"
    return extents(type) if floats and (inner is type or is_rows(type)) else None


def _agree(a: Shape, b: Shape) -> bool:
    return all(x == y or x is None or y is None for x, y in zip(a, b, strict=True))
