"""The types of lists, sets and dictionaries that get one more element, also where the type of that element is not known yet:
`xs.append([])` gives the list an element, and only a later statement tells of what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import LIST, ListKind, ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import type_of
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Value

NOTHING_YET = (UNKNOWN, TupleT((UNKNOWN, UNKNOWN)))
"""The types of the elements of lists and sets, and of the entries of dictionaries, that are empty so far."""


def grown(f: Frame, whole: Value, item: Any) -> ListT:
    """The type of a list, set or dictionary with one more element, of type `item`. What is not known of it yet is as earlier
    rounds of compiling have found it for the one that is made here. Raises Mismatch."""
    t = type_of(whole)
    assert isinstance(t, ListT)
    joined = ListT(item if t.item in NOTHING_YET else _covering(f, t.item, item, t.kind), kind=t.kind)
    learnt = f.learnt(f.span)
    if contains_unknown(joined) and isinstance(learnt, ListT) and learnt.kind == t.kind:
        try:
            return ListT(f.common_items([joined.item, learnt.item], t.kind), kind=t.kind)
        except Mismatch:  # it is of another one that is made at this place
            pass
    return joined


def joined(f: Frame, a: Value, b: Value) -> Any:
    """The type of the list `a + b`. Raises Mismatch."""
    one, other = type_of(a), type_of(b)
    assert isinstance(one, ListT)
    assert isinstance(other, ListT)
    try:
        return f.common([one, other])
    except Mismatch:
        return ListT(_covering(f, one.item, other.item, one.kind))


def _covering(f: Frame, one: Any, other: Any, kind: ListKind = LIST) -> Any:
    """The type of elements of both types, of containers of this kind; of tensors of one rank the extents that differ vary.
    Raises Mismatch."""
    try:
        return f.common_items([one, other], kind)
    except Mismatch:
        if isinstance(one, TupleT) and isinstance(other, TupleT) and len(one.items) == len(other.items):
            return replace(one, items=tuple(_covering(f, a, b) for a, b in zip(one.items, other.items, strict=True)))
        if extents(one) is None or extents(other) is None:
            raise
    return f.common([one, other], numbers=True)
