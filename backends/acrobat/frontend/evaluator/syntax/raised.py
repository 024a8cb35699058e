"""Nodes of the syntax tree for exceptions of the model's own classes that are raised and caught. The source's `raise`, `try`
and calls become these before a function is compiled (`functions/exceptions.py`)."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

TryKey: TypeAlias = tuple[int, int]
"""The line and column of a `try`, which tell it from the others of its function."""


class Caught(NamedTuple):
    """What a handler catches, or a function leaves to its callers: exceptions of these classes, and whether they are read."""

    classes: tuple[type[Exception], ...]
    is_read: bool


@dataclass(frozen=True)
class Escapes:
    """What the callers of a function catch that gives an outcome, and whether it gives no result."""

    caught: tuple[Caught, ...]
    gives_nothing: bool


class RaisedHere(ast.Raise):
    """A `raise` of an exception that handler number `which` of the `try` with this `key` catches, in no loop inside of that.
    `exc` gives what the program keeps of the exception."""

    key: TryKey
    which: int


class CaughtTry(ast.Try):
    """A `try` whose handlers catch exceptions of the model's own classes, with what each of them catches."""

    key: TryKey
    caught: tuple[Caught, ...]


class CallTried(ast.Try):
    """A call, alone in its statement, of a function that may raise what is caught around it. For each of `caught` there is a
    handler, which leaves the body."""

    caught: tuple[Caught, ...]


class LookupsTried(ast.Try):
    """Stands before a statement, `tried`, in whose lookups Python may raise what is caught. For each of `caught` there is a
    handler, which leaves the body if one would."""

    tried: ast.stmt
    caught: tuple[Caught, ...]


def classes_of(caught: tuple[Caught, ...]) -> tuple[type[Exception], ...]:
    """All classes of which exceptions are caught."""
    return tuple(cls for each in caught for cls in each.classes)
