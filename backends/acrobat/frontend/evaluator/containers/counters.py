"""`collections.Counter`: a dictionary of numbers, whose operators and `update` work on the numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import COUNTER
from backends.acrobat.frontend.evaluator.containers.containers import EMPTY, items_of, kind_of, of_kind
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.kinds import nothing_known, type_of, type_or_none
from backends.acrobat.frontend.types import contains_unknown, is_never_filled
from backends.acrobat.frontend.values import Value, guess, unknown
from backends.acrobat.library import dictionaries, iteration

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": dictionaries.counts_added,
    "sub": dictionaries.counts_subtracted,
    "bitor": dictionaries.larger_counts,
    "bitand": dictionaries.smaller_counts,
}
"""The operators of two Counters, by their names."""


def is_counter(value: Value) -> bool:
    return getattr(type_or_none(value), "kind", None) == COUNTER


def counter_of(f: Frame, node: ast.AST, xs: Value) -> Value:
    """`Counter(xs)`: of a dictionary its numbers, else how often each element is there."""
    if kind_of(xs) == "dict":
        return of_kind(xs, COUNTER)
    items = as_list(f, node, iterable(f, xs))
    if nothing_known(items) or contains_unknown(type_of(items)):
        return unknown()
    if is_never_filled(type_of(items)):
        return f.empty(replace(EMPTY["dict"], kind=COUNTER))
    return of_kind(f.program.call(f, node, iteration.counted, [items], {}), COUNTER)


def combined(f: Frame, node: ast.AST, function: Callable[..., Any], a: Value, b: Value) -> Value:
    """What a function of the library gives of two Counters. Raises Mismatch."""
    if nothing_known(a) or nothing_known(b):
        return unknown()
    t = f.common([type_of(a), type_of(b)])
    if contains_unknown(t):
        return guess(t)
    pairs = [items_of(f.coerce(v, t)) for v in (a, b)]
    return of_kind(f.program.call(f, node, function, pairs, {}), COUNTER)


def updated(f: Frame, node: ast.AST, whole: Value, name: str, other: Value) -> Value:
    """A Counter after `whole.update(other)` or `whole.subtract(other)`. Raises Mismatch."""
    more = counter_of(f, node, other)
    if name == "subtract" and not nothing_known(more) and not contains_unknown(type_of(more)):
        more = of_kind(f.program.call(f, node, dictionaries.negative, [items_of(more)], {}), COUNTER)
    return combined(f, node, dictionaries.added, whole, more)
