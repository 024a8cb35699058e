"""The lengths of lists and of ragged tensors, and what is known of them: all lists of a chain of maps have one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import retyped
from backends.acrobat.frontend.values import END, Dyn, Static, Value

Array: TypeAlias = Any
"""A value that is a tensor, ragged or not, or a list: a `Dyn`, in most places."""


def item_type(value: Any) -> Any:
    """The type of the parts of a ragged tensor, or of the items of a list."""
    assert isinstance(value.type, ListT)
    return value.type.item


def origin_of(f: Frame, xs: Array) -> str:
    """The variable of the list from which a chain of maps has made `xs`: all lists of the chain have one length."""
    name = getattr(xs.atom, "name", "")
    return f.lengths_of.get(name, name)


def has_items(f: Frame, xs: Array) -> bool:
    """Whether a list is known to have an item: `stacked` has made it, or a chain of maps from such a list."""
    return getattr(xs.atom, "name", "") in f.nonempty


def of_length(f: Frame, xs: Array, other: Array) -> Dyn:
    """The list `xs`, which must be as long as `other`: extents that differ are an error of the instance."""
    if origin_of(f, xs) == origin_of(f, other):
        same: Dyn = xs
        return same
    sizes = [f.host("list.len", [each], INT, "size") for each in (xs, other)]
    return _of_equal_sizes(f, xs, sizes)


def of_size(f: Frame, xs: Array, size: Value) -> Dyn:
    """The list `xs`, which must have `size` items: another number is an error of the instance."""
    if is_length_of(f, size, xs):
        return xs  # type: ignore[no-any-return]
    checked = _of_equal_sizes(f, xs, [f.host("list.len", [xs], INT, "size"), size])
    f.lengths_of[getattr(checked.atom, "name", "")] = origin_of(f, xs)
    return checked


def is_length_of(f: Frame, value: Value, xs: Array) -> bool:
    """Whether an int is known to be how many items a list, or a ragged tensor along its outermost varying dimension, has."""
    return isinstance(value, Dyn) and f.lengths.get(getattr(value.atom, "name", "")) == origin_of(f, xs)


def _of_equal_sizes(f: Frame, xs: Array, sizes: Sequence[Value]) -> Dyn:
    difference = f.host("sub", sizes, INT, "difference")
    only = f.host("range", [Static(0), Static(1), Static(1)], ListT(INT))
    size = f.host("mul", [difference, difference], INT, "difference")
    start = f.host("list.get", [only, size], INT, "start")  # 0, or outside of the list
    return f.host("list.slice", [xs, start, Static(END)], xs.type, "rows")


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
    return f.host("list.get", [retyped(xs, ListT(item_type(xs))), i], item_type(xs), "row")
