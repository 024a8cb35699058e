"""Notes which expressions give sequences that are no lists in Python, but lists of the program (`other_sequences.py`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from backends.acrobat.core.types import ITERATOR, LIST, ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.fresh import is_own_function
from backends.acrobat.frontend.kinds import is_iterator, type_or_none
from backends.acrobat.frontend.other_sequences import OtherSequence
from backends.acrobat.frontend.types import UNKNOWN, HeldT
from backends.acrobat.frontend.values import Held, Value
from backends.acrobat.library import __name__ as LIBRARY


def note_sequence(f: Frame, node: ast.expr, value: Value) -> None:
    """Note what an expression gives, if it may be such a sequence, or have one in it outside of objects."""
    t = type_or_none(value.value if isinstance(value, Held) and value.kind == "iterator" else value)
    items = tuple(_items(t))
    if not items and (t is not None or not is_iterator(value)) or getattr(f.function, "__module__", "").startswith(LIBRARY):
        return
    f.program.sequences.met.append(OtherSequence(node, f.definition, items or (UNKNOWN, UNKNOWN), _own_calls(f)))


def note_written(f: Frame, node: ast.AST | None, value: Value) -> Value:
    """The value of a list that is written out, which the program has as a tuple. That is noted."""
    written = node if isinstance(node, ast.expr) else None
    f.program.listed.met.append(OtherSequence(written, f.definition, (type_or_none(value),), _own_calls(f)))
    return value


def _own_calls(f: Frame) -> Callable[[ast.Call], bool]:
    callees = f.callees
    return lambda call: is_own_function(callees.get(call))


def _items(type: Any) -> Iterator[Any]:
    """The types of the items of the lists, which are said to be such, in values of a type, outside of objects."""
    match type:
        case TupleT(items):
            for each in items:
                yield from _items(each)
        case ListT(item, rows=None, kind=kind):
            if kind in (LIST, ITERATOR):
                yield item
            yield from _items(item)
        case HeldT(_, inner):
            yield from _items(inner)
