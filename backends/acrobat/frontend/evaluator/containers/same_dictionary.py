"""Whether two names of different types may refer to the same dictionary.

A type says what the program knows of a dictionary's keys and values, and under one name that may be less than under another: an
int here is a float or a tensor there, an object of one class belongs to a union of several, or nothing is known yet. But
strings never become tuples, nor a list of pairs of ints a list of tensors.
"""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import LIST, TUPLE, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.types import SymbolT


def may_be_one(one: Any, other: Any) -> bool:
    """Whether values of the two types, of dictionaries or of what is in them, may be the same value: one may become the other
    when types are widened. Also true if a type says little, as a union does, or is not known."""
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
