"""What the model's own `forward` returns at several places of its source: a number at one of them stays one where another gives
a tensor, as in

    if not outputs:
        return None, 0.0
    return torch.stack(outputs), stack.depth()

All that is returned has one type in the program, and a number beside tensors would be one of them. Here each part that is a
number or a tensor becomes a value that may be the one or the other. Which parts these are is found in the rounds of compiling:
each takes what the one before has found. (`rewriting/numbers_given.py` is about names that have a number at first.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import BOOL, LIST, TUPLE, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import type_of, type_or_none
from backends.acrobat.frontend.types import NONE, OF_ONE_BOOL, UNASSIGNED, Mismatch, contains_unknown, has_role, is_unassigned
from backends.acrobat.frontend.values import Value

Path = tuple[Any, ...]
"""The way to a part of a result: the places in tuples, and `EACH` for the items of a list; from the result, or from a field
of the objects of a class."""
EACH = "[]"


def kept_apart(f: Frame, value: Value, path: Path = ()) -> Value:
    """A value that `forward` returns, or that a function returns which gives a part of its result, at a `path` in the result,
    with its numbers kept apart from tensors; the same value in other functions. Raises Mismatch."""
    if not f.gives_result or f.in_place:
        return value
    try:
        value = f.staged(value)
        have = type_of(value)
    except Mismatch:  # told where the result is made of it
        return value
    path = path or (f.key,)
    for place, t in _leaves(f, have, path) if not f.trials else ():
        f.program.returned_now.setdefault(place, set()).add(t)
    wanted = _type_returned(f, have, path)
    return value if wanted == have else f.coerce(value, wanted)


def _leaves(f: Frame, t: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The types of the numbers and tensors in values of a type, outside of objects, with the ways to them."""
    match t:
        case TupleT(items):
            for i, item in enumerate(items):
                yield from _leaves(f, item, (*path, i))
        case ListT(item, rows=None) if t.kind in (LIST, TUPLE):
            yield from _leaves(f, item, (*path, EACH))
        case _ if (inner := f.without_none(t)) != t:
            yield from _leaves(f, inner, path)
        case _:
            parts = f.mixed(t).values() or [t]
            if all(isinstance(x, (ScalarT, TensorT)) or isinstance(x, ListT) and x.rows is not None for x in parts):
                for part in parts:
                    yield path, part


def _type_returned(f: Frame, t: Any, path: Path = ()) -> Any:
    """The type as which values of a type are returned, according to the round of compiling before."""
    match t:
        case TupleT(items):
            return replace(t, items=tuple(_type_returned(f, item, (*path, i)) for i, item in enumerate(items)))
        case ListT(item, rows=None) if t.kind in (LIST, TUPLE):
            return replace(t, item=_type_returned(f, item, (*path, EACH)))
        case _ if (inner := f.without_none(t)) != t:
            apart = _type_returned(f, inner, path)
            return t if apart == inner else f.program.datatypes.optional(apart)
    if not any(True for _ in _leaves(f, t)):
        return t
    types = sorted(f.program.returned.get(path, ()), key=repr)
    try:
        together = {word: f.common(its, numbers=True) for word, its in f.program.datatypes.number_or_tensor(types).items()}
    except Mismatch:
        return t
    either = f.program.datatypes.either(together, "Result") if together else t
    return either if f.fit([*f.mixed(t).values()] or [t], either) else t


def as_plain(f: Frame, value: Value) -> Value:
    """A result of a function that gives a part of the model's result, for a use elsewhere: there its numbers beside tensors are
    tensors. Raises Mismatch."""
    have = type_or_none(value)
    plain = have if have is None or contains_unknown(have) else _plain(f, have)
    return value if plain == have else f.coerce(value, plain)


def _plain(f: Frame, t: Any) -> Any:
    """A type with tensors in place of what is a number in some results and a tensor in others, and with bools in place of
    tensors of one."""
    if t == OF_ONE_BOOL:
        return BOOL
    if has_role(t, "Result"):
        return f.common([*f.mixed(t).values()], numbers=True)
    if (inner := f.without_none(t)) != t:
        plain = _plain(f, inner)
        return t if plain == inner else f.program.datatypes.optional(plain)
    match t:
        case TupleT(items):
            return replace(t, items=tuple(_plain(f, item) for item in items))
        case ListT(item, rows=None):
            return replace(t, item=_plain(f, item))
    return t


def together(f: Frame, types: Sequence[Any], common: Any) -> Any:
    """The type of values of `types` of which numbers stay numbers beside tensors, also in tuples and lists, for the type
    `common` that covers them and has numbers as tensors. Raises Mismatch."""
    if contains_unknown(common) or UNASSIGNED in types or any(map(is_unassigned, types)):
        return common
    if (inner := f.without_none(common)) != common:
        apart = together(f, [f.without_none(t) for t in types if t is not NONE], inner)
        return common if apart == inner else f.program.datatypes.optional(apart)
    match common:
        case TupleT(items) if all(isinstance(t, TupleT) and len(t.items) == len(items) for t in types):
            columns = zip(*(t.items for t in types), strict=True)
            return replace(common, items=tuple(together(f, *both) for both in zip(columns, items, strict=True)))
        case ListT(item, rows=None) if all(isinstance(t, ListT) and t.rows is None for t in types):
            return replace(common, item=together(f, [t.item for t in types], item))
    return common if f.mixed(common) else number_or_tensor(f, types) or common


def number_or_tensor(f: Frame, types: Sequence[Any]) -> Any | None:
    """The type of values of `types`, of which numbers stay numbers beside tensors; None if these are not numbers and tensors of
    one kind. Raises Mismatch."""
    found = f.program.datatypes.number_or_tensor(types)
    return f.program.datatypes.either({word: f.common(its) for word, its in found.items()}, "Result") if found else None
