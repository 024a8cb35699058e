"""The two annotations of the language. In Python they are identities; the compiler reads them (see LANGUAGE.md)."""

from __future__ import annotations

from typing import Any, TypeVar, TypeVarTuple, overload

A = TypeVar("A")
B = TypeVar("B")
Rest = TypeVarTuple("Rest")
L = TypeVar("L", bound=list[Any])


@overload
def phase(value: A, /) -> A: ...
@overload
def phase(first: A, second: B, /, *rest: *Rest) -> tuple[A, B, *Rest]: ...
def phase(*values):  # type: ignore[no-untyped-def]
    """The value itself; of several values their tuple. Tensor work that uses it belongs to a later program phase than the work
    that made it. Raises TypeError without a value."""
    if not values:
        raise TypeError("phase() takes the values that the next phase begins with: `x = phase(x)`")
    return values[0] if len(values) == 1 else values


@overload
def parallel(values: L, /) -> L: ...
@overload
def parallel(first: A, second: B, /, *rest: *Rest) -> tuple[A, B, *Rest]: ...
def parallel(*values):  # type: ignore[no-untyped-def]
    """The tuple of the arguments, or the one list itself: states that the arguments, or the list's elements, are independent
    of each other. Raises TypeError for one argument that is no list."""
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    if len(values) < 2:
        raise TypeError("parallel() takes several values, or one list")
    return values
