"""Assignments to items: `xs[i] = value`, `t[i, j] = value`."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import BOOL
from backends.acrobat.frontend.evaluator.changes.indices import in_source_order
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import put_into
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import is_held_tensor, is_number, is_unknown, kind, known, nothing_known, type_or_none
from backends.acrobat.frontend.values import Value, unknown


def put_item(f: Frame, s: ast.AST, target: ast.Subscript, value: Value) -> None:
    """`xs[i] = value` of a list, `t[i, j] = value` of a tensor."""
    ordered = in_source_order(f, target)
    assert isinstance(ordered, ast.Subscript)
    target = ordered
    owner: ast.expr = target
    entries: list[ast.expr] = []
    before: list[ast.expr] = []  # the entries of all brackets but the last
    while isinstance(owner, ast.Subscript):
        index = owner.slice
        written = index.elts if isinstance(index, ast.Tuple) else [index]
        before = [*written, *before] if owner is not target else []
        entries = [*written, *entries]
        owner = owner.value
    if _of_tensor(f, owner):
        if not all(is_int(f, e) for e in before):
            raise Refused(
                "an item is assigned to of a part of a tensor that is not named by ints alone",
                "name it in one pair of brackets",
            )
        while len(entries) > 1 and _is_all(entries[-1]):  # `t[i, :] = value` is `t[i] = value`
            entries.pop()
    if len(entries) > 1 and isinstance(target.value, ast.Subscript) and not _of_tensor(f, owner):
        owner, entries = target.value, [target.slice]
    place_and_value = place(f, s, owner, "an assignment to an item")
    if place_and_value is None or nothing_known(value):
        return
    if owner is target.value and kind(place_and_value[1]) == "dict":
        entries = [target.slice]  # a tuple is one key
    put_into(f, s, *place_and_value, entries, value)


def is_int(f: Frame, index: ast.expr) -> bool:
    """Whether an index names one place, or is not known yet."""
    if isinstance(index, ast.Slice):
        return False
    with f.trial():
        value = f.borrowed(index)
    is_bool = type_or_none(value) == BOOL or known(value)[0] and isinstance(known(value)[1], bool)
    return is_unknown(value) or is_number(value) and not is_bool


def _is_all(index: ast.expr) -> bool:
    """Whether an index is a `:` without bounds."""
    return isinstance(index, ast.Slice) and index.lower is None and index.upper is None and index.step is None


def _of_tensor(f: Frame, owner: ast.expr) -> bool:
    value = f.env.get(owner.id, unknown()) if isinstance(owner, ast.Name) else None
    return value is not None and (kind(value) in ("tensor", "ragged") or is_held_tensor(value))
