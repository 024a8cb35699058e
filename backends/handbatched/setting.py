"""How a program is to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from backends.handbatched.products import Library

Sequences = Literal["packed", "padded", "nested"]


@dataclass(frozen=True)
class Setting:
    """`device`: where; `library`: what computes products with weights; `tables`: is the vocabulary projected when the program
    is made? `sequences`: how sentences of different lengths lie in memory, where a program has several ways."""

    device: str
    library: Library
    tables: bool
    sequences: Sequences = "packed"
