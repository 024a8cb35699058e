"""Names that the compiler makes and no source can have."""

from __future__ import annotations

from typing import Self

RENAMED = "renamed"
"""The attribute of a nested function's definition which says what the names are that it captures, where its code has others."""


class MadeName(str):
    """A name that no source can have. It is a string since syntax trees and scopes have strings for names; its text is no
    identifier, and so differs from every name of a source."""

    shown: str
    """How messages, and variables of the program, write it."""

    def __new__(cls, text: str, shown: str = "") -> Self:
        name = super().__new__(cls, text)
        name.shown = shown or text
        return name

    def __str__(self) -> str:
        """The name itself, since a copy as a plain string would not be known as made any more."""
        return self
