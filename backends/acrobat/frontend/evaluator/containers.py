"""Sets and dictionaries that the model makes, or that come in an instance with other keys each time.

In the program they are lists: of the elements, each once, or of (key, value) pairs, in the order in which they came in, as
Python keeps dictionaries. `ListT.kind` tells them from lists while the front end works. Looking up takes time with their size.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.choice import choose
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import as_list, iterable, mapped
from backends.acrobat.frontend.evaluator.mutation import give, owned_list
from backends.acrobat.frontend.evaluator.tables import ITEMS_PUT, ITERATION, MEMBERSHIP, METHODS, handles
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Method,
    Static,
    Value,
    empty,
    is_container,
    is_empty,
    is_unknown,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.library import python

EMPTY = {"set": ListT(UNKNOWN, kind="set"), "dict": ListT(TupleT((UNKNOWN, UNKNOWN)), kind="dict")}


def kind_of(value: Any) -> str:
    """ "set" or "dict", or "" for other values."""
    t = type_or_none(value)
    return t.kind if isinstance(t, ListT) and t.kind != "list" else ""


def items_of(value: Any) -> Dyn:
    """The elements, or the pairs, as a list."""
    return retyped(value, replace(value.type, kind="list"))


def of_kind(value: Value, kind: Any) -> Value:
    """A list seen as a set, or as a dictionary."""
    if is_unknown(value) and not is_container(value):
        return unknown()
    assert isinstance(value, Dyn)
    assert isinstance(value.type, ListT)
    return retyped(value, replace(value.type, kind=kind))


def empty_of_kind(f: Frame, kind: str) -> Dyn:
    return empty(EMPTY[kind], f.span)


# ---- making


def set_of(f: Frame, node: ast.AST, items: Value) -> Value:
    """The set of the elements of a list."""
    whole = as_list(f, node, items)
    if nothing_known(whole):
        return unknown()
    if contains_unknown(type_of(whole)):
        return empty_of_kind(f, "set")
    return of_kind(f.program.call(f, node, python.distinct, [whole], {}), "set")


def dict_of(f: Frame, node: ast.AST, pairs: Sequence[tuple[Value, Value]]) -> Value:
    """The dictionary of entries written out."""
    result: Value = empty_of_kind(f, "dict")
    for key, value in pairs:
        result = put(f, node, result, key, value)
    return result


def dict_of_pairs(f: Frame, node: ast.AST, pairs: Value) -> Value:
    """The dictionary of a list of pairs; of equal keys the last counts."""
    if nothing_known(pairs) or contains_unknown(type_of(pairs)):
        return unknown()
    return of_kind(f.program.call(f, node, python.from_pairs, [pairs], {}), "dict")


def put(f: Frame, node: ast.AST, whole: Value, key: Value, value: Value) -> Value:
    """The dictionary with `value` at `key`."""
    if any(map(nothing_known, (whole, key, value))):
        return unknown()
    t = type_of(whole)
    assert isinstance(t, ListT)
    entry = TupleT((type_of(key), type_of(value)))
    joined = ListT(f.common([t.item, entry]), kind="dict")
    if contains_unknown(joined):
        return empty(joined, f.span)
    pairs = items_of(f.coerce(whole, joined))
    assert isinstance(joined.item, TupleT)
    k, v = (f.coerce(x, wanted) for x, wanted in zip((key, value), joined.item.items, strict=True))
    return of_kind(f.program.call(f, node, python.put, [pairs, k, v], {}), "dict")


# ---- asking


def look_up(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    """`whole[key]`; a key that is not there is an error of the instance."""
    if is_unknown(whole) or is_unknown(key):
        return unknown()
    pairs = items_of(whole)
    at = f.program.call(f, node, python.place_of, [pairs, _key(f, whole, key)], {})
    if is_unknown(at):
        return unknown()
    pair = f.host("list.get", [pairs, at], pairs.type.item, "entry")  # type: ignore[union-attr]
    return (f.components(pair) or [unknown(), unknown()])[1]


def _key(f: Frame, whole: Dyn, key: Value) -> Value:
    assert isinstance(whole.type, ListT)
    assert isinstance(whole.type.item, TupleT)
    return f.coerce(key, whole.type.item.items[0])


def elements(f: Frame, node: ast.AST, whole: Dyn) -> Value:
    """The keys of a dictionary, or the elements of a set, as a list."""
    if is_unknown(whole):
        return unknown()
    return items_of(whole) if kind_of(whole) == "set" else column(f, whole, 0)


def column(f: Frame, whole: Dyn, which: int) -> Value:
    """The keys (0) or the values (1) of a dictionary."""
    return mapped(f, [items_of(whole)], lambda pair: (f.components(pair) or [unknown(), unknown()])[which])


def contains(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    if is_unknown(whole):  # nothing was put into it so far: what is done then may tell its type
        f.program.incomplete |= not is_empty(whole)
        return Static(False)
    if is_unknown(key):
        return unknown()
    if kind_of(whole) == "set":
        assert isinstance(whole.type, ListT)
        return f.program.call(f, node, python.contains, [items_of(whole), f.coerce(key, whole.type.item)], {})
    return f.program.call(f, node, python.has_key, [items_of(whole), _key(f, whole, key)], {})


@handles(METHODS, "set", "dict")
def _method(f: Frame, node: ast.AST, method: Method, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A method that leaves the set or dictionary as it is."""
    if kwargs:
        return None
    whole, name = method.owner, method.name
    kind = kind_of(whole)
    if is_unknown(whole):
        return unknown()
    match kind, name, list(args):
        case "dict", "items", []:
            return items_of(whole)
        case "dict", "keys", []:
            return column(f, whole, 0)
        case "dict", "values", []:
            return column(f, whole, 1)
        case "dict", "get", [key, default]:
            if is_unknown(key) or is_unknown(default):
                return unknown()
            found = contains(f, node, whole, key)
            return (
                unknown()
                if is_unknown(found)
                else choose(f, ast.Pass(), found, lambda: look_up(f, node, whole, key), lambda: default)
            )
        case "set", "union", [other] if kind_of(other) == "set":
            return of_kind(f.program.call(f, node, python.union, [items_of(whole), items_of(other)], {}), "set")
        case (("set" | "dict"), "copy", []):
            same: Value = whole
            return same
    return f.problem(node, f"`{name}` of a {kind} is not in the language here", "LANGUAGE.md lists what is")


# ---- changing


def change(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """`s.add(x)` and the like, as a statement."""
    values = [f.expression(a) for a in args]
    found = owned_list(f, s, owner, name)
    if found is None:
        return
    who, whole = found
    if any(map(nothing_known, values)):
        return
    match kind_of(whole), name, values:
        case "set", "add", [x]:
            t = type_of(whole)
            try:
                joined = ListT(f.common([t.item, type_of(x)]), kind="set")
            except Mismatch:
                f.problem(s, f"this set holds {describe(t.item)}, this adds {describe(type_of(x))}")
                return
            if contains_unknown(joined):
                give(f, who, empty(joined, f.span))
                return
            items = items_of(f.coerce(whole, joined))
            give(f, who, of_kind(f.program.call(f, s, python.with_item, [items, f.coerce(x, joined.item)], {}), "set"))
        case "set", "discard", [x] if not is_unknown(whole):
            items = items_of(whole)
            give(f, who, of_kind(f.program.call(f, s, python.without_item, [items, x], {}), "set"))
        case "set", "update", [xs] if not is_unknown(whole):
            more = as_list(f, s, iterable(f, xs))
            give(f, who, of_kind(f.program.call(f, s, python.union, [items_of(whole), more], {}), "set"))
        case _:
            f.problem(s, f"`{name}` is not in the language here", "LANGUAGE.md lists what is")


@handles(ITEMS_PUT, "dict")
def _put_entry(f: Frame, s: ast.AST, name: str, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d[key] = value`."""
    if len(entries) != 1:
        f.problem(s, "an entry of an entry is not changed in place in the language", "build a new value")
        return
    give(f, name, put(f, s, whole, f.expression(entries[0]), value))


@handles(ITERATION, "dict")
def _keys(f: Frame, whole: Dyn) -> Value:
    return unknown() if is_unknown(whole) else column(f, whole, 0)


@handles(ITERATION, "set")
def _no_order(f: Frame, whole: Dyn) -> Value:
    raise Refused("the order of a set is not known", "write `sorted(...)` around it")


@handles(MEMBERSHIP, "set", "dict")
def _member(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    return contains(f, node, whole, key)
