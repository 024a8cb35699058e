"""Places that are changed, and giving them their new values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.claims import claims
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES_PUT, ITEMS_PUT
from backends.acrobat.frontend.kinds import kind, nothing_known, type_or_none
from backends.acrobat.frontend.values import Value


@dataclass(frozen=True)
class ChangedPlace:
    """A place that is changed: a name, or an item or attribute of one. `put` gives it a new value."""

    put: Callable[[Value], None]


def give(f: Frame, name: str | ChangedPlace, value: Value) -> None:
    """Bind a changed name or place to its new value, to which it alone refers."""
    if isinstance(name, ChangedPlace):
        name.put(value)
        return
    kept = claims(name) & f.owned
    f.rebind(name, value)
    f.owned |= {name} | kept
    f.mutated.add(name)
    f.changed_in_place.add(name)


def put_into(f: Frame, s: ast.AST, where: ChangedPlace, whole: Value, entries: Sequence[ast.expr], value: Value) -> None:
    """Compile `whole[entries] = value`, where `whole` is the present value of the place `where`."""
    handler = ITEMS_PUT.get(kind(whole))
    if handler is None:
        f.problem(s, f"an item of {describe(type_or_none(whole))} cannot be assigned to")
        return
    handler(f, s, where, whole, entries, value)


def put_attribute(f: Frame, s: ast.AST, where: ChangedPlace, whole: Value, name: str, value: Value) -> None:
    """Compile `whole.name = value`, where `whole` is the present value of the place `where`."""
    if nothing_known(whole):
        return
    handler = ATTRIBUTES_PUT.get(kind(whole))
    if handler is None:
        f.problem(s, "an attribute of this is not assigned to in the language", "make a new object with the new value")
        return
    handler(f, s, where, whole, name, value)
