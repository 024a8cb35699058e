"""The lengths of lists and of ragged tensors, and what is known of them: all lists of a chain of maps have one length."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from backends.acrobat.core.types import BOOL, INT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import retyped
from backends.acrobat.frontend.values import Dyn, Static, Value

Array: TypeAlias = Any
"""A value that is a tensor, ragged or not, or a list: a `Dyn`, in most places."""


def item_type(value: Any) -> Any:
    """The type of the parts of a ragged tensor, or of the items of a list."""
    assert isinstance(value.type, ListT)
    return value.type.item


def origin_of(f: Frame, xs: Array) -> str:
    """The variable of the list from which a chain of maps has made `xs`: all lists of the chain have one length."""
    name = getattr(xs.atom, "name", "")
    if name not in f.lengths_of:
        f.sources.setdefault(name, xs)
    return f.lengths_of.get(name, name)


def lengths_in(f: Frame, xs: Value | None) -> tuple[str, str]:
    """The variables of lists that are as long as a list or ragged tensor, and as each list in it; "" where none is known."""
    if not isinstance(xs, Dyn) or not isinstance(xs.type, ListT):
        return "", ""
    inside = f.lengths_inside.get(getattr(xs.atom, "name", ""))
    return origin_of(f, xs), "" if inside is None else origin_of(f, inside)


def note_lengths(f: Frame, xs: Dyn, same: Value | None, inside: Value | None) -> None:
    """Note that a list is as long as the list `same`, and each list in it as `inside`."""
    name = getattr(xs.atom, "name", "")
    if isinstance(same, Dyn):
        f.lengths_of[name] = origin_of(f, same)
    if isinstance(inside, Dyn):
        f.lengths_inside[name] = inside


def note_lengths_of(f: Frame, xs: Dyn, other: Value) -> None:
    """Note that a ragged tensor has the extents of another one."""
    note_lengths(f, xs, other, f.lengths_inside.get(getattr(getattr(other, "atom", None), "name", "")))


def note_item(f: Frame, xs: Array, item: Array) -> None:
    """Note that `item` is an item of the list `xs`: if all items of that have one length which is known, `item` has it too."""
    if isinstance(item, Dyn) and (inside := f.lengths_inside.get(getattr(xs.atom, "name", ""))) is not None:
        f.lengths_of[getattr(item.atom, "name", "")] = origin_of(f, inside)


def length_inside(f: Frame, xs: Array) -> Dyn | None:
    """The length of each item of a list of lists, where another list tells it; None where it takes an item to know it."""
    inside = f.lengths_inside.get(getattr(xs.atom, "name", ""))
    return None if inside is None else length(f, inside)


def has_items(f: Frame, xs: Array) -> bool:
    """Whether a list is known to have an item: `stacked` has made it, or a chain of maps from such a list."""
    return getattr(xs.atom, "name", "") in f.nonempty


def of_length(f: Frame, xs: Array, other: Array) -> Dyn:
    """The list `xs`, which must be as long as `other`: extents that differ are an error of the instance."""
    if origin_of(f, xs) == origin_of(f, other):
        return xs  # type: ignore[no-any-return]
    check_equal(f, *(f.host("list.len", [each], INT, "size") for each in (xs, other)))
    if {origin_of(f, xs), origin_of(f, other)} & f.of_several_extents:
        f.of_several_extents |= {origin_of(f, xs), origin_of(f, other)}
    return xs  # type: ignore[no-any-return]


def of_size(f: Frame, xs: Array, size: Value) -> Dyn:
    """The list `xs`, which must have `size` items: another number is an error of the instance."""
    if is_length_of(f, size, xs):
        return xs  # type: ignore[no-any-return]
    check_equal(f, f.host("list.len", [xs], INT, "size"), size)
    return xs  # type: ignore[no-any-return]


def is_length_of(f: Frame, value: Value, xs: Array) -> bool:
    """Whether an int is known to be how many items a list, or a ragged tensor along its outermost varying dimension, has."""
    return isinstance(value, Dyn) and f.lengths.get(getattr(value.atom, "name", "")) == origin_of(f, xs)


def check_equal(f: Frame, one: Value, other: Value) -> None:
    """Have it be an error of the instance if these two extents differ."""
    text = "RuntimeError: two extents must be equal here, and are {0} and {1}; one that varies is not broadcast where it is 1"
    equal = f.host("eq", [one, other], BOOL, "equal")
    choose(f, ast.Pass(), equal, lambda: Static(0), lambda: fail(f, text, [one, other]))


def indices(f: Frame, xs: Array) -> Dyn:
    return f.host("range", [Static(0), length(f, xs), Static(1)], ListT(INT))


def length(f: Frame, xs: Array) -> Dyn:
    """The varying extent of a ragged tensor's outermost dimension, or the length of a list."""
    assert isinstance(xs, Dyn)
    size = f.host("list.len", [retyped(xs, ListT(item_type(xs)))], INT, "size")
    f.lengths[getattr(size.atom, "name", "")] = origin_of(f, xs)
    return size


def at(f: Frame, xs: Array, i: Value) -> Dyn:
    """The item of a list, or the part of a ragged tensor, at index `i`."""
    assert isinstance(xs, Dyn)
    row = f.host("list.get", [retyped(xs, ListT(item_type(xs))), i], item_type(xs), "row")
    note_item(f, xs, row)
    return row
