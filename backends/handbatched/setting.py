"""How a program is to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from backends.handbatched.products import Library

Sequences = Literal["packed", "padded", "nested"]


@dataclass(frozen=True)
class Setting:
    """`device`: where a program runs; `library`: what computes products with weights; `tables`: whether the vocabulary's
    products are computed at load; `sequences`: how sentences of different lengths lie in memory, if there are several ways."""

    device: str
    library: Library
    tables: bool
    sequences: Sequences = "packed"
