"""The names of types in messages, in words of the source."""

from __future__ import annotations

from typing import Any

from backends.acrobat.core.types import COUNTER, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.tensor_types import extents, innermost
from backends.acrobat.frontend.types import HeldT, NeverT, SymbolT, UnknownT, container_of_shared, is_shared

SHOWN: dict[str, str] = {}
"""The compiler's name of a union that has none in the source, an optional or a dictionary -> its name in messages."""


def describe(type: Any) -> str:
    """The name of a type in messages, in words of the source."""
    match type:
        case ListT(rows=int()):
            if extents(type) is None:
                return "a tensor"
            shape = ", ".join("n" if e is None else str(e) for e in extents(type) or ())
            numbers = {ScalarT("int"): " of ints", ScalarT("bool"): " of bools"}.get(innermost(type), "")
            return f"a tensor of shape ({shape}){numbers}" + (
                ", whose extent n varies" if None in (extents(type) or ()) else ""
            )
        case SymbolT():
            return "a string"
        case HeldT("constant"):
            return "a module or function"
        case HeldT(kind, inner):
            what = {"index": "tensor of an int", "bytes": "tensor of bytes"}.get(kind, kind)
            return f"a {what} ({describe(inner)})"
        case NeverT():
            return "a value that is never there"
        case TensorT(shape, dtype):
            return f"a tensor of shape {shape}" + ("" if dtype == "float32" else f" and dtype {dtype}")
        case ScalarT(kind):
            return f"{'an' if kind == 'int' else 'a'} {kind}"
        case TupleT(items):
            what = "list" if type.listed else "tuple"
            return f"a {what} of {len(items)} ({', '.join(map(describe, items))})" if items else f"an empty {what}"
        case ListT(item, container="tuple"):
            return f"a tuple of {plural(item)}"
        case ListT(kind=kind) if kind.cls:
            return f"a {kind.cls}"
        case ListT(kind=kind) if kind.missing is not None:
            return "a Counter" if kind == COUNTER else "a defaultdict"
        case ListT(container=container) if container != "list":
            return f"{'an' if container == 'iterator' else 'a'} {container}"
        case ListT(UnknownT()):
            return "an empty list"
        case ListT(item):
            return f"a list of {plural(item)}"
        case DataT() if is_shared(type):
            return f"a {container_of_shared(type)}"
        case DataT(name):
            return SHOWN.get(name, name)
    return "a value of unknown type"


def plural(type: Any) -> str:
    """The name of a type in messages about several values of it."""
    match type:
        case TensorT():
            return describe(type).replace("a tensor", "tensors", 1)
        case ScalarT(kind):
            return f"{kind}s"
        case SymbolT():
            return "strings"
        case TupleT() | ListT():
            return describe(type).replace("a tuple", "tuples", 1).replace("a list", "lists", 1)
    return describe(type)
