"""The type of tuples that stand in one place and differ in length: tuples of a length that varies, with one type of elements.

Elements of several kinds, such as strings beside tuples in a tree `("S", ("NP", "dogs"), ("VP", "bark", ("ADV", "now")))`, are
a mixed union. A tuple among them is again one of such elements, to any depth: so a tree that a recursion makes has one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from backends.acrobat.core.types import LIST, TUPLE, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.types import (
    NEVER,
    NONE,
    SYMBOL,
    UNKNOWN,
    Mismatch,
    UnknownT,
    contains_unknown,
    is_leaf,
    is_node,
    is_tuple_type,
    is_varying_tuple,
    word_of_type,
)


class TypesOfFrame(Protocol):
    """What a frame knows of types (`covering.CoveringFrame`)."""

    program: Any

    def common(self, types: Sequence[Any], numbers: bool = False) -> Any: ...

    def mixed(self, type: Any) -> dict[str, Any]: ...

    def without_none(self, type: Any) -> Any: ...


def joined_tuples(f: TypesOfFrame, tuples: Sequence[Any], numbers: bool) -> Any:
    """The type that covers all of these types of tuples; `numbers` as in `join_types`. Raises Mismatch."""
    if all(isinstance(t, TupleT) and len(t.items) == len(tuples[0].items) for t in tuples):
        try:
            return part_by_part(f, tuples, numbers)
        except Mismatch:
            nodes = any(is_tuple_type(x) for t in tuples for x in t.items) or _are_tagged(f, tuples)
            if not nodes or _has_leaves_beside_lists(tuples):
                raise
    return of_any_length(f, *tuples)


def _are_tagged(f: TypesOfFrame, tuples: Sequence[Any]) -> bool:
    """Whether tuples may be nodes of trees of which the first element says what they are, as `("number", 1.0)` and `("name",
    word)`: functions make them that call each other or themselves."""
    is_recursion = not f.program.recursive.isdisjoint(f.program.entered)
    return is_recursion and all(t.items and t.items[0] == SYMBOL for t in tuples)


def _has_leaves_beside_lists(tuples: Sequence[Any]) -> bool:
    """Whether, among several tuples, some have a number or a string in a place where others have a list or a tuple with a list,
    or such tuples. These are the leaves and the nodes of trees, `(label, word)` and `(label, parts)`, or `word` and `(label,
    parts)` beside a number, which have a type of their own."""
    if not all(isinstance(t, TupleT) and len(t.items) == len(tuples[0].items) for t in tuples):
        return False
    columns = [*zip(*(t.items for t in tuples), strict=True)]
    beside = any(any(map(is_leaf, column)) and any(map(_has_list, column)) for column in columns)
    return beside or any(map(_has_leaves_beside_lists, columns))


def _has_list(type: Any) -> bool:
    """Whether a type is that of lists, or of tuples with such in them."""
    return is_node(type) and (any(map(_has_list, type.items)) if isinstance(type, TupleT) else not is_varying_tuple(type))


def of_any_length(f: TypesOfFrame, *tuples: Any) -> Any:
    """The type of tuples of varying length that covers tuples of these types; for empty ones nothing is known of the elements.
    Raises Mismatch."""
    return ListT(_element(f, [x for t in tuples for x in _inside(t)]), kind=TUPLE)


def part_by_part(f: TypesOfFrame, tuples: Sequence[Any], numbers: bool) -> Any:
    """The type that covers these types of tuples of one length, or of such that are written as lists. Raises Mismatch."""
    parts = tuple(f.common(items, numbers) for items in zip(*(t.items for t in tuples), strict=True))
    return TupleT(parts, listed=tuples[0].listed)


def _inside(tuple: Any) -> Sequence[Any]:
    """The types of a tuple's elements."""
    items: Sequence[Any] = tuple.items if isinstance(tuple, TupleT) else (tuple.item,)
    return items


def _element(f: TypesOfFrame, types: Sequence[Any]) -> Any:
    """The type that covers elements of all these types, each of which keeps its own kind: an int beside a float stays an int.
    Types that are not known yet are left out; unknown if no other is there. Raises Mismatch."""
    there = [t for t in dict.fromkeys(types) if not isinstance(t, UnknownT)]
    there = [t for t in there if t is not NEVER] or there
    plain = [f.without_none(t) for t in there if t is not NONE]
    mixed = any(map(f.mixed, plain))
    if mixed or len({word_of_type(t) for t in plain}) < 2:
        try:
            return f.common(there) if there else UNKNOWN
        except Mismatch:
            if not mixed and not all(map(is_tuple_type, plain)):
                raise
    return _mixture(f, there)


def _mixture(f: TypesOfFrame, types: Sequence[Any]) -> Any:
    """The mixed union of elements of these types, and of what is in the tuples among them. Raises Mismatch."""
    kinds: dict[str, list[Any]] = {}
    nested, listed, none, pending, visited = False, False, False, list(types), set[Any]()
    while pending:
        t = pending.pop(0)
        if t in visited or isinstance(t, UnknownT) or t is NEVER:
            continue
        visited.add(t)
        inner = f.without_none(t)
        none |= t is NONE or inner != t
        if f.mixed(inner):
            pending += f.mixed(inner).values()
        elif is_tuple_type(inner):
            nested = True
            pending += _inside(inner)
        elif _is_of_trees(f, inner):
            listed = True
            pending.append(inner.item)
        elif inner is not NONE:
            word = word_of_type(inner)
            if not word:
                raise Mismatch(f"{describe(inner)} in a tuple whose length varies")
            kinds.setdefault(word, []).append(inner)
    by_word = {word: f.common(its) for word, its in sorted(kinds.items())}
    if any(map(contains_unknown, by_word.values())) or not by_word:
        return UNKNOWN
    return f.program.datatypes.mixture(by_word, nested, none, listed)


def _is_of_trees(f: TypesOfFrame, type: Any) -> bool:
    """Whether a type is that of lists whose elements are such tuples of varying length, as the arguments of a call in a tree
    `("call", name, [("number", 1.0), ("call", ...)])`."""
    if not (isinstance(type, ListT) and type.rows is None and type.kind == LIST):
        return False
    item = f.without_none(type.item)
    return is_varying_tuple(item) or "tuple" in f.mixed(item)
