"""Which lists, sets and dictionaries of the source are shared ones (`evaluator/containers/shared_lists.py`), and their classes.

An attempt that was refused tells the types of lists that it has met under several names while they were changed. All places of
the source that make lists of such a type are one *group* for the next attempt, and the lists that they make are of one class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, TypeAlias

from backends.acrobat.core.types import Container, DataT, ListT, TensorT, TupleT
from backends.acrobat.frontend.types import NEVER, UNKNOWN, UnknownT, is_shared

NO_ELEMENTS = (UNKNOWN, NEVER, TupleT((UNKNOWN, UNKNOWN)), TupleT((NEVER, NEVER)))
"""The types of elements of lists, sets and dictionaries of which nothing is known but that they are made."""

ITEMS = "items"
"""The one attribute of shared lists."""

Site: TypeAlias = tuple[str, int, int, int, int]
"""A place in the source: the file, and the lines and columns at which the expression begins and ends."""


Noted: TypeAlias = tuple[Any, frozenset[Site]]
"""The type of a list that was met under several names, and the places that may have made it, as far as they were found."""


Choice: TypeAlias = Literal["named", "typed", "alike"]
"""Which places an attempt takes for those of a list that it has met under several names: those by which the source names it,
those that make lists of its type, or these and those that make lists of which the elements' type is not known."""


@dataclass(frozen=True)
class SharedGroup:
    """The places that make the shared lists of one class."""

    cls: type
    container: Container
    """Whether they are lists, sets or dictionaries."""
    sites: frozenset[Site]


def sites_of_type(t: Any, made: Mapping[Site, Any], unknown: bool) -> frozenset[Site]:
    """The places in `made`, which says where lists of which types are made, whose lists may be of type `t`; with `unknown` also
    those of which the elements' type is not known."""
    if t.item in NO_ELEMENTS:
        return frozenset(s for s, other in made.items() if other.item in NO_ELEMENTS and _alike(t, other))
    return frozenset(s for s, other in made.items() if _alike(t, other) and (unknown or other.item not in NO_ELEMENTS))


def holds_lists(t: Any) -> bool:
    """Whether there are lists, sets or dictionaries in those of an annotated type."""
    match t:
        case ListT(TupleT(items), rows=None) | ListT(items, rows=None):
            parts = items if isinstance(items, tuple) else (items,)
            return any(isinstance(x, ListT) and x.rows is None or isinstance(x, TupleT) for x in parts)
    return False


def of_kind(sites: frozenset[Site], t: Any, made: Mapping[Site, Any]) -> frozenset[Site]:
    """Those of the places that may make lists, sets or dictionaries, whichever `t` is. Of places that are not in `made` nothing
    is known."""
    return frozenset(s for s in sites if s not in made or made[s].container == t.container)


def with_sites(groups: tuple[SharedGroup, ...], parts: Sequence[Noted]) -> tuple[SharedGroup, ...]:
    """The groups, and one more for each of `parts`, types with the places that make what is of them. Those that have a place in
    common are one group. The same object where that adds no place."""
    out = list(groups)
    for t, sites in parts:
        if not sites or any(sites <= g.sites for g in out):
            continue
        inside = [g for g in out if g.sites & sites]
        out = [g for g in out if g not in inside]
        cls, container = (inside[0].cls, inside[0].container) if inside else (_new_class(t.container), t.container)
        out.append(SharedGroup(cls, container, sites.union(*(g.sites for g in inside))))
    return groups if frozenset(out) == frozenset(groups) else tuple(out)


_NUMBERS = count()
OF_SHARED = "SharedList_"
"""How the names of these classes begin."""


def _new_class(container: Container) -> type:
    """A class for shared lists, sets or dictionaries. It has a length, so its objects are not always true."""
    return made_class(f"{OF_SHARED}{container}_{next(_NUMBERS)}")


def is_made(cls: type) -> bool:
    """Whether a class is one for shared lists."""
    return cls.__module__ == __name__ and cls.__name__.startswith(OF_SHARED)


def made_class(name: str) -> type:
    """A class for shared lists with that name."""
    return type(name, (), {"__len__": lambda self: len(self.items), "__module__": __name__})


def _alike(a: Any, b: Any) -> bool:
    """Whether two types may be those of one list, as far as they are known."""
    match a, b:
        case (UnknownT(), _) | (_, UnknownT()):
            return True
        case ListT(x, rows=None), ListT(y, rows=None):
            return a.container == b.container and (a.kind.missing is None) == (b.kind.missing is None) and _alike(x, y)
        case TupleT(x), TupleT(y):
            return len(x) == len(y) and all(map(_alike, x, y))
        case (TensorT(), TensorT() | ListT(rows=int())) | (ListT(rows=int()), TensorT() | ListT(rows=int())):
            return True
        case DataT(), DataT():
            return is_shared(a) == is_shared(b)
    return bool(a == b or a is NEVER or b is NEVER)
