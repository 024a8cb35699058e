"""What tells Python's constants apart in the compiler: `1 == True` and `0.0 == -0.0`, and yet programs differ by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONG = 64
"""A list of more elements has a key of its own, since it would take long to compare them each time."""


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """A Python object, which it keeps, as a key that is equal to that of the same object only."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def exactly(value: Any) -> Any:
    """A key of a constant. Those of equal constants differ where a program may tell them apart, such as 1, 1.0 and True, or 0.0
    and -0.0. A list, which may be made anew each time, as by `"a b".split()`, has that of its elements."""
    match value:
        case float():
            return type(value), value.hex()
        case tuple():
            return type(value), *map(exactly, value)
        case list() if len(value) <= LONG:
            return type(value), *map(exactly, value)
    if hasattr(value, "__array__"):  # tensors compare element by element
        return Same(value)
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return type(value), value
