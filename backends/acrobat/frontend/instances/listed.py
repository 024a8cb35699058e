"""Lists of values of several types among the results, as in `return [loss, tags]`, and tuples of a length that varies. In the
program each is an object of a class of its own, of which the boundary makes the list or tuple."""

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
    names = tuple(f"item{i}" for i in range(len(type_of_items.items)))
    return type("listed", (ListOfValues,), {"__slots__": (), "_fields": names})


class TupleOfItems(tuple):
    """The base of the classes for tuples of a length that varies. Made from a list, it is a tuple of its elements."""

    __slots__ = ()
    _fields: tuple[str, ...] = ("items",)

    def __new__(cls, items: Any) -> Any:
        return tuple(items)


@cache
def class_of_tuple(type_of_items: ListT) -> type:
    """The class for the tuples that have elements of this list's type."""
    return type("tuple_of", (TupleOfItems,), {"__slots__": (), "_fields": ("items",)})


def holds_other_kind(t: Any) -> bool:
    """Whether there are lists of values of several types, or tuples of a length that varies, in a value of type `t`, outside of
    objects."""
    match t:
        case TupleT(items):
            return t.listed or any(map(holds_other_kind, items))
        case ListT(item, rows=None):
            return t.of_tuple or holds_other_kind(item)
    return False
