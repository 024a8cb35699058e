"""How a program is to compute."""

from __future__ import annotations

from dataclasses import dataclass

from backends.handbatched.products import Library


@dataclass(frozen=True)
class Setting:
    """`device`: where; `library`: what computes products with weights; `tables`: is the vocabulary projected when the program
    is made?"""

    device: str
    library: Library
    tables: bool
