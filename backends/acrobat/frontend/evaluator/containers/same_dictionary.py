"""Whether one dictionary may have two types under two of its names.

The program knows of a dictionary what it has in it, and under one name that may be less than under another: an int that is a
float or a tensor there, an object of one class beside objects of several, something of which nothing is known yet. But what is
made of strings is never made of tuples, nor a list of pairs of ints a list of tensors.
"""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import LIST, TUPLE, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.types import SymbolT


def may_be_one(one: Any, other: Any) -> bool:
    """Whether a dictionary, or what is in one, may be of both types: values of the one may become values of the other by what
    widens types. It may also be so where a type says little, as one of several classes, or is not known."""
    families = _family(one), _family(other)
    if "" in families:
        return True
    if families[0] != families[1]:
        return False
    match one, other:
        case TupleT(x), TupleT(y):
            return len(x) == len(y) and all(map(may_be_one, x, y))
        case (TupleT(items), ListT(item)) | (ListT(item), TupleT(items)):
            return all(may_be_one(x, item) for x in items)
        case ListT(x, rows=None), ListT(y, rows=None):
            return may_be_one(x, y)
    return True


def _family(type: Any) -> str:
    """The word for all types into which values of a type may be converted where they meet; "" for a type that says little."""
    match type:
        case ScalarT() | TensorT() | ListT(rows=int()):
            return "numbers"
        case SymbolT():
            return "strings"
        case TupleT():
            return "items"
        case ListT(container=container, kind=kind):
            return "items" if kind in (LIST, TUPLE) else container
    return ""
