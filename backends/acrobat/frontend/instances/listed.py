"""Lists of values of several types among the results, as in `return [loss, tags]`. In the program each is an object of a class
of its own, of which the boundary makes the list."""

from __future__ import annotations

from functools import cache
from typing import Any

from backends.acrobat.core.types import ListT, TupleT


class ListOfValues(tuple):
    """The base of these classes. Made from its items, it is a list of them."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *items: Any, **by_name: Any) -> Any:
        return [*items, *by_name.values()]


@cache
def class_of_list(type_of_items: TupleT) -> type:
    """The class for the lists that have items of these types."""
    return made_class_of_list(tuple(f"item{i}" for i in range(len(type_of_items.items))))


def made_class_of_list(names: tuple[str, ...]) -> type:
    """A class for lists with items of these names."""
    return type("listed", (ListOfValues,), {"__slots__": (), "_fields": names})


def holds_listed(t: Any) -> bool:
    """Whether there are lists of values of several types in a value of type `t`, outside of objects."""
    match t:
        case TupleT(items):
            return t.listed or any(map(holds_listed, items))
        case ListT(item, rows=None):
            return holds_listed(item)
    return False
