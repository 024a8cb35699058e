"""Whether two values may be the same list or object in Python, or contain the same one, as far as their types say.

The types may differ although the value is the same: `[1]` that is put among lists of floats has floats in the program, and is a
copy there of the value that its own name has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from backends.acrobat.core.types import DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.types import contains_unknown


def may_share(f: Frame, some: Iterable[Any], others: Iterable[Any]) -> bool:
    """Whether a value of one of the types `some` may be the same list or object as one of the types `others`. Of types that are
    not known yet a later round finds out."""
    listed = list(others)
    return any(may_be_same(f, one, other) for one in some for other in listed)


def may_be_same(f: Frame, one: Any, other: Any, asked: frozenset[tuple[Any, Any]] = frozenset()) -> bool:
    """Whether values of two types may be the same value in Python. `asked`: the pairs of types around this one that are being
    compared. A tree contains itself, so a pair that is met again tells nothing new."""
    if one == other or (one, other) in asked:
        return True
    if contains_unknown(one) or contains_unknown(other):
        return False
    inside = asked | {(one, other)}
    alternatives = [_alternatives(f, t) for t in (one, other)]
    if alternatives != [[one], [other]]:
        return any(may_be_same(f, a, b, inside) for a in alternatives[0] for b in alternatives[1])
    if _is_numeric(one) and _is_numeric(other):
        return True
    match one, other:
        case ListT(a), ListT(b):
            sorts = {t.container.replace("iterator", "list") for t in (one, other)}  # an iterator goes through its list
            return len(sorts) == 1 and may_be_same(f, a, b, inside)
        case TupleT(a), TupleT(b):
            return len(a) == len(b) and all(may_be_same(f, x, y, inside) for x, y in zip(a, b, strict=True))
        case (TupleT(items), ListT(item)) | (ListT(item), TupleT(items)):
            return all(may_be_same(f, x, item, inside) for x in items)
        case DataT(a), DataT(b):
            cases = f.program.datatypes.cases
            return not set(cases.get(a, ())).isdisjoint(cases.get(b, ()))
    return False


def _alternatives(f: Frame, t: Any) -> list[Any]:
    """The types of what may be None or of several of Python's types; of others the type itself."""
    if not isinstance(t, DataT):
        return [t]
    inner = f.program.datatypes.optionals.get(t.name)
    return [inner] if inner is not None else list(f.mixed(t).values()) or [t]


def _is_numeric(t: Any) -> bool:
    """Whether a type is one of numbers or tensors. In the program an int among floats is a float, and among tensors a
    tensor."""
    return isinstance(t, (ScalarT, TensorT)) or isinstance(t, ListT) and t.rows is not None
