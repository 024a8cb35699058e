"""`len(a)`."""

from __future__ import annotations

import ast
from enum import EnumType

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import mapped_choice
from backends.acrobat.frontend.evaluator.choices.mixed import ITERABLE, by_type, mixed, not_taken
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists import lengths
from backends.acrobat.frontend.evaluator.lists.sizes import known_size
from backends.acrobat.frontend.evaluator.objects import constants
from backends.acrobat.frontend.evaluator.tables import LENGTHS, handles
from backends.acrobat.frontend.kinds import kind, type_or_none
from backends.acrobat.frontend.specials import OneOf
from backends.acrobat.frontend.types import is_never_filled
from backends.acrobat.frontend.values import Static, TupleV, Value, is_empty


def length_of(f: Frame, node: ast.AST, a: Value) -> Value:
    """`len(a)`."""
    if len(mixed(f, a)) > 1:

        def of_one_type(word: str, inner: Value) -> Value:
            inner = opened(f, node, inner)
            return length_of(f, node, inner) if kind(inner) in LENGTHS else not_taken(f, node, word)

        return by_type(f, node, a, of_one_type)  # type: ignore[arg-type]
    a = opened(f, node, a, types=ITERABLE)
    handler = LENGTHS.get(kind(a))
    result = None if handler is None else handler(f, a)
    return f.problem(node, "this has no length") if result is None else result


@handles(LENGTHS, OneOf)
def _length_of_one(f: Frame, value: OneOf) -> Value | None:
    if not value.constants and not value.of_containers:
        return None
    return mapped_choice(f, ast.Pass(), value, lambda each: length_of(f, ast.Pass(), each))


@handles(LENGTHS, TupleV, Static, "tuple", "varying tuple", "list", "set", "dict")
def _length(f: Frame, a: Value) -> Value | None:
    match a:
        case TupleV(items):
            return Static(len(items))
        case Static(str() | tuple() | list() | range() | dict() | set() | frozenset() | EnumType() as value):
            return Static(len(value))
    if isinstance(a, Static) and (method := constants.method_of(a.value, "__len__")) is not None:
        return f.call_with(method, [a])
    match type_or_none(a):
        case ListT():
            if is_empty(a) or is_never_filled(a.type):  # type: ignore[union-attr]
                return Static(0)
            size = known_size(f, a)  # type: ignore[arg-type]
            return lengths.length(f, a) if size is None else Static(size)
        case TupleT(types):
            return Static(len(types))
    return None
