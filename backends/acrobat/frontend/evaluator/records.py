"""Dictionaries whose keys are names: the same ones always, or one of a few sets of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, DataT
from backends.acrobat.frontend.evaluator import constants
from backends.acrobat.frontend.evaluator.choice import choose, fail
from backends.acrobat.frontend.evaluator.classes import number_of_class, record_of, records_of
from backends.acrobat.frontend.evaluator.construction import new_object
from backends.acrobat.frontend.evaluator.fields import field, field_at_first
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ITEMS_PUT, METHODS, handles
from backends.acrobat.frontend.instances.observed import RecordOf
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.types import contains_unknown, describe
from backends.acrobat.frontend.values import Dyn, Static, Value, is_empty, is_unknown, known, nothing_known, unknown
from backends.acrobat.ir import nodes as n


@handles(ITEMS_PUT, "object")
def _put_entry(f: Frame, s: ast.AST, where: Any, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d["name"] = value` of a dictionary whose keys are names written in the source."""
    assert isinstance(whole.type, DataT)
    classes = f.program.datatypes.cases.get(whole.type.name, ())
    if len(classes) != 1 or not issubclass(classes[0], RecordOf) or len(entries) != 1 or isinstance(entries[0], ast.Slice):
        f.problem(s, f"an item of {describe(whole.type)} cannot be assigned to")
        return
    key = f.expression(entries[0])
    names = f.program.datatypes.record_fields(classes[0])
    is_known, name = known(key)
    if is_known and name not in names:
        f.problem(
            s,
            f"this dict has no key {name!r}, and gets no new ones in the language",
            "begin with an empty dict, or with that key",
        )
        return
    if nothing_known(key):
        return
    held = {x: field(f, s, whole, x) for x in names}
    if is_known:
        held[name] = value
    else:
        new = "KeyError: {0!r}: this dict gets no new keys in the language: begin with an empty dict"
        there = constants.contains(f, key, list(names))
        choose(f, s, there, lambda: Static(0), lambda: fail(f, new, [key], frozenset({0})))
        for x in names:
            if not nothing_known(held[x]):
                same = f.host("eq", [key, Static(x)], BOOL, "same")
                held[x] = choose(f, s, same, lambda: value, lambda x=x: held[x])  # type: ignore[misc]
    changed = new_object(f, s, classes[0], whole.type, held)
    where.put(changed)


def as_dict(f: Frame, cls: type) -> Value:
    """Have dictionaries with these keys be lists of entries from the next round on, in the order that Python has them in."""
    f.program.datatypes.note_walked(cls)
    f.program.incomplete = True
    return unknown()


@handles(METHODS, "object")
def _method_of_record(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    cls = record_of(f, method.owner)
    if (
        method.name == "get"
        and len(records_of(f, method.owner)) > 1
        and not kwargs
        and len(args) in (1, 2)
        and known(args[0])[0]
    ):
        return _got_of_several(f, method.owner, str(known(args[0])[1]), args[1] if len(args) == 2 else Static(None))
    if cls is None or kwargs:
        return None
    keys = list(cls.keys_of_record)  # type: ignore[attr-defined]
    match method.name, args:
        case "get", [key, *default] if len(default) < 2:
            otherwise = default[0] if default else Static(None)
            is_known, name = known(key)
            if is_known:
                return field(f, node, method.owner, name) if name in keys else otherwise
            if nothing_known(key):
                return unknown()
            found = constants.contains(f, key, keys)
            return choose(
                f,
                node,
                found,
                lambda: constants.constant_by_key(f, node, keys, key, lambda k: field(f, node, method.owner, k)),
                lambda: otherwise,
            )
        case "items" | "keys" | "values", []:
            return as_dict(f, cls)
    return None


def _got_of_several(f: Frame, value: Dyn, name: str, otherwise: Value) -> Value:
    """`value.get(name, otherwise)` of a union of records, of which some may have the key."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name)]
    if not have:
        return otherwise
    there = has_key(f, value, name)
    if is_unknown(there):
        return unknown()

    def default() -> Value:
        t = f.common([datatypes.field_type(c, name) for c in have])
        return otherwise if contains_unknown(t) or not is_empty(otherwise) else f.coerce(otherwise, t)

    return choose(f, ast.Pass(), there, lambda: field_at_first(f, value, have, name), default)


def has_key(f: Frame, value: Dyn, name: str) -> Value:
    """Whether a dictionary that is one of several records has the key `name`."""
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases[value.type.name]
    have = [name in c.keys_of_record for c in classes]  # type: ignore[attr-defined]
    return Static(have[0]) if len({*have}) == 1 else number_of_class(f, value, classes, [n.Lit(h, BOOL) for h in have])
