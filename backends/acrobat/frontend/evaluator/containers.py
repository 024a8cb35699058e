"""Sets and dictionaries that the model makes, and dictionaries of an instance whose keys differ between instances.

The program has them as lists in order of insertion: a set as its elements, each once, a dictionary as (key, value) pairs.
`ListT.kind` distinguishes them from lists in the front end. A look-up takes time proportional to their size.
"""

from __future__ import annotations

import ast
import collections
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.choice import choose, negation
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import as_list, iterable, mapped
from backends.acrobat.frontend.evaluator.mutation import ChangedPlace, give, place
from backends.acrobat.frontend.evaluator.ownership import changeable, fresh_inside, seen_inside
from backends.acrobat.frontend.evaluator.tables import (
    BINARY,
    CALLS,
    COMPARED_SETS,
    FUNCTIONS,
    ITEMS_PUT,
    ITERATION,
    MEMBERSHIP,
    METHODS,
    handles,
)
from backends.acrobat.frontend.specials import Closure, Method
from backends.acrobat.frontend.types import NONE, UNKNOWN, Mismatch, contains_unknown, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Special,
    Static,
    TupleV,
    Value,
    empty,
    guess,
    is_container,
    is_empty,
    is_unknown,
    kind,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
)
from backends.acrobat.library import iteration, python

EMPTY = {"set": ListT(UNKNOWN, kind="set"), "dict": ListT(TupleT((UNKNOWN, UNKNOWN)), kind="dict")}


def kind_of(value: Any) -> str:
    """ "set" or "dict", or "" for other values."""
    t = type_or_none(value)
    return t.kind.partition(":")[0] if isinstance(t, ListT) and t.kind != "list" else ""


def default_of(f: Frame, whole: Any) -> Value | None:
    """The default of a `defaultdict` or `Counter` for missing keys; None for a dictionary where these are an error."""
    t = type_or_none(whole)
    match t.kind.partition(":")[2] if isinstance(t, ListT) else "":
        case "int" | "count":
            return Static(0)
        case "float":
            return Static(0.0)
        case "list":
            return empty(ListT(UNKNOWN), f.span)
        case "set" | "dict" as which:
            return empty_of_kind(f, which)
        case made if made in f.program.factories:
            factory = f.program.factories[made]
            return CALLS[kind(factory)](f, ast.Pass(), factory, [], {}, "default")
    return None


def items_of(value: Any) -> Dyn:
    """A set or dictionary as the list of its elements or pairs."""
    return retyped(value, replace(value.type, kind="list"))


def of_kind(value: Value, kind: Any) -> Value:
    """A list of elements as a set, or of pairs as a dictionary."""
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
    """The dictionary of the written-out entries `pairs`."""
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
    joined = ListT(f.common([t.item, entry]), kind=t.kind)
    if contains_unknown(joined):
        return empty(joined, f.span)
    pairs = items_of(f.coerce(whole, joined))
    assert isinstance(joined.item, TupleT)
    k, v = (f.coerce(x, wanted) for x, wanted in zip((key, value), joined.item.items, strict=True))
    return of_kind(f.program.call(f, node, python.put, [pairs, k, v], {}), t.kind)


# ---- asking


def enters_missing_keys(value: Value) -> bool:
    """Whether looking up a missing key enters it into the dictionary, as a `defaultdict` does."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.kind.startswith("dict:") and t.kind != "dict:count"


def has_uses_beyond_lookup(f: Frame, name: str) -> bool:
    """Whether the function uses the dictionary otherwise than to look up or assign entries, and so can notice further keys."""
    if f.definition is None or name in [a.arg for a in (*f.definition.args.args, *f.definition.args.kwonlyargs)]:
        return True
    looked_up = {id(x.value) for x in ast.walk(f.definition) if isinstance(x, ast.Subscript)}
    return any(
        isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Load) and id(x) not in looked_up
        for x in ast.walk(f.definition)
    )


def look_up(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    """`whole[key]`; a missing key gives the dictionary's default, or is an error of the instance."""
    default = default_of(f, whole)
    if default is not None and not nothing_known(key):
        found = contains(f, node, whole, key)
        if isinstance(default, Dyn) and isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT):
            value_type = whole.type.item.items[1]
            default = f.coerce(default, value_type) if isinstance(value_type, ListT) else default
        if is_unknown(whole):
            return default
        return choose(f, ast.Pass(), found, lambda: _there(f, node, whole, key), lambda: default)
    return _there(f, node, whole, key)


def _there(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    """The value of a key; a missing key is an error of the instance."""
    if is_unknown(whole) or is_unknown(key):
        t = whole.type.item.items[1] if isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT) else UNKNOWN
        return guess(t) if isinstance(t, ListT) else unknown()
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
    if is_unknown(whole):  # what is done with a missing key may tell the type
        f.program.incomplete |= not is_empty(whole)
        return Static(False)
    if is_unknown(key):
        return unknown()
    if kind_of(whole) == "set":
        assert isinstance(whole.type, ListT)
        return f.program.call(f, node, python.contains, [items_of(whole), f.coerce(key, whole.type.item)], {})
    return f.program.call(f, node, python.has_key, [items_of(whole), _key(f, whole, key)], {})


def _as_value(f: Frame, whole: Dyn, value: Value) -> Value:
    """A value that stands beside those of a dictionary: an empty list, set or dictionary takes their type."""
    assert isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT)
    return f.coerce(value, whole.type.item.items[1]) if is_empty(value) else value


@handles(METHODS, "set", "dict")
def _method(f: Frame, node: ast.AST, method: Method, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A method of a set or dictionary that is called for its result."""
    if kwargs:
        return None
    whole, name = method.owner, method.name
    kind = kind_of(whole)
    if is_unknown(whole):
        if name == "get" and len(args) == 2 and not nothing_known(args[1]) and type_or_none(args[1]) not in (None, NONE):
            f.program.incomplete = True  # nothing is in it so far
            return guess(type_of(args[1]))
        return unknown()
    match kind, name, list(args):
        case "dict", "items", []:
            return items_of(whole)
        case "dict", "keys", []:
            return column(f, whole, 0)
        case "dict", "values", []:
            return column(f, whole, 1)
        case "dict", "get", [key, default]:
            default = _as_value(f, whole, default)
            if is_unknown(key) or is_unknown(default):
                return unknown()
            found = contains(f, node, whole, key)
            return (
                unknown()
                if is_unknown(found)
                else choose(f, ast.Pass(), found, lambda: _there(f, node, whole, key), lambda: default)
            )
        case "dict", "get", [key]:
            return _method(f, node, method, [key, Static(None)], {})
        case "dict", "most_common", counts if len(counts) <= 1:
            ordered = f.program.call(f, node, python.most_common, [items_of(whole)], {})
            return ordered if not counts else f.host("list.slice", [ordered, Static(0), counts[0]], type_of(ordered))
        case "dict", "pop", [key, *others] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            at = place(f, node, node.func.value, "pop")
            if at is None:
                return unknown()
            held = contains(f, node, whole, key)
            value = (
                choose(f, ast.Pass(), held, lambda: _there(f, node, whole, key), lambda: _as_value(f, whole, others[0]))
                if others
                else _there(f, node, whole, key)
            )
            give(
                f, at[0], of_kind(f.program.call(f, node, python.without_key, [items_of(whole), key], {}), type_of(whole).kind)
            )
            return value
        case "dict", "setdefault", [key, value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            at = place(f, node, node.func.value, "setdefault")
            if at is None:
                return unknown()
            held = contains(f, node, whole, key)
            value = _as_value(f, whole, value)
            value = choose(f, ast.Pass(), held, lambda: _there(f, node, whole, key), lambda: value)
            give(f, at[0], put(f, node, whole, key, value))
            return value
        case "set", "union" | "intersection" | "difference" | "symmetric_difference" | "issubset" | "issuperset", [other]:
            other = other if kind_of(other) == "set" else set_of(f, node, iterable(f, other))
            together = _of_sets(f, node, SET_METHODS[name], whole, other)
            return unknown() if together is None else together
        case (("set" | "dict"), "copy", []):
            same: Value = whole
            return same
    return f.problem(node, f"`{name}` of a {kind} is not in the language here", "LANGUAGE.md lists what is")


SET_METHODS = {
    "union": "bitor",
    "intersection": "bitand",
    "difference": "sub",
    "symmetric_difference": "bitxor",
    "issubset": "le",
    "issuperset": "ge",
}


def _of_sets(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """The result of an operator on two sets, by its name ("bitor", "le", ...); None for an operator that sets do not have."""
    functions = {
        "bitor": python.union,
        "bitand": python.common,
        "sub": python.lacking,
        "bitxor": python.in_one,
        "le": python.within_set,
    }
    if name in ("ge", "gt"):
        return _of_sets(f, node, {"ge": "le", "gt": "lt"}[name], b, a)
    if is_unknown(a) or is_unknown(b) or name not in functions:
        return unknown() if name in functions else None
    found = f.program.call(f, node, functions[name], [items_of(a), items_of(b)], {})
    return found if name == "le" else of_kind(found, "set")


@handles(BINARY, "set", "dict")
def _binary(f: Frame, node: ast.AST, op: ast.operator, name: str, a: Value, b: Value) -> Value:
    if kind_of(a) == kind_of(b) == "set":
        found = _of_sets(f, node, name, a, b)
        if found is not None:
            return found
    if kind_of(a) == kind_of(b) == "dict" and name == "bitor":
        return merged(f, node, a, b)
    raise Refused(f"this operator does not take {describe(type_or_none(a))} and {describe(type_or_none(b))}")


def merged(f: Frame, node: ast.AST, a: Value, b: Value) -> Value:
    """The dictionary `a | b`: for keys in both the entry of `b` counts."""
    if nothing_known(a) or nothing_known(b):
        return unknown()
    t = f.common([type_of(a), type_of(b)])
    if contains_unknown(t):
        return a if is_unknown(b) else b
    pairs = [items_of(f.coerce(x, t)) for x in (a, b)]
    return of_kind(f.program.call(f, node, python.merged, pairs, {}), t.kind)


@handles(COMPARED_SETS, "set")
def _compared(f: Frame, node: ast.AST, name: str, a: Value, b: Value) -> Value | None:
    """`<=`, `>=`, `==` and `!=` of sets."""
    if name in ("eq", "ne"):
        if is_unknown(a) or is_unknown(b):
            return unknown()
        both = [_of_sets(f, node, "le", x, y) for x, y in ((a, b), (b, a))]
        same = choose(f, ast.Pass(), both[0], lambda: both[1], lambda: Static(False))  # type: ignore[arg-type, return-value]
        return same if name == "eq" else negation(f, same)
    return _of_sets(f, node, name, a, b)


# ---- changing


def change(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """Compile a method call that stands as a statement and changes the set or dictionary `owner`: `s.add(x)` and the like."""
    values = [f.expression(a) for a in args]
    found = place(f, s, owner, name)
    if found is None:
        return
    who, whole = found
    if any(changeable(f, type_or_none(v)) and not fresh_inside(f, a) for v, a in zip(values, args, strict=True)):
        seen_inside(f, owner)
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
        case "dict", "update", [other]:
            if kind_of(other) != "dict":
                other = dict_of_pairs(f, s, as_list(f, s, iterable(f, other)))
            give(f, who, merged(f, s, whole, other))
        case "set", "remove", [x] if not is_unknown(whole):
            give(f, who, of_kind(f.program.call(f, s, python.without_first, [items_of(whole), x], {}), "set"))
        case "set", "intersection_update" | "difference_update", [xs] if not is_unknown(whole):
            other = xs if kind_of(xs) == "set" else set_of(f, s, iterable(f, xs))
            left = _of_sets(f, s, "bitand" if name == "intersection_update" else "sub", whole, other)
            give(f, who, unknown() if left is None else left)
        case "set", "update", [xs] if not is_unknown(whole):
            more = as_list(f, s, iterable(f, xs))
            give(f, who, of_kind(f.program.call(f, s, python.union, [items_of(whole), more], {}), "set"))
        case _:
            f.problem(s, f"`{name}` is not in the language here", "LANGUAGE.md lists what is")


@handles(ITEMS_PUT, "dict")
def _put_entry(f: Frame, s: ast.AST, name: str | ChangedPlace, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d[key] = value`."""
    keys = [f.expression(e) for e in entries]
    give(f, name, put(f, s, whole, keys[0] if len(keys) == 1 else TupleV(tuple(keys)), value))


DEFAULTS: dict[Any, str] = {int: "int", float: "float", list: "list", set: "set", dict: "dict"}


@handles(FUNCTIONS, collections.defaultdict)
def _default_dict(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`defaultdict(factory)`: an empty dictionary whose kind names the default."""
    match args:
        case [Static(factory)] if factory in DEFAULTS:
            return empty(replace(EMPTY["dict"], kind=f"dict:{DEFAULTS[factory]}"), f.span)
        case [Static(types.FunctionType()) | Closure() as factory] if not _holds_values(factory):
            name = f"made at {f.span.line}.{f.span.column} in {f.file}"
            f.program.factories[name] = factory
            return empty(replace(EMPTY["dict"], kind=f"dict:{name}"), f.span)
    raise Refused("`defaultdict` takes int, float, list, set, dict, or a function without values of run time here")


def _holds_values(factory: Value) -> bool:
    """Whether a lambda uses values that are known at run time only, which the dictionary would have to keep."""

    def atoms(v: Value) -> list[Any]:
        if isinstance(v, TupleV):
            return [a for x in v.items for a in atoms(x)]
        return v.operands(atoms) if isinstance(v, Special) else [v] if isinstance(v, Dyn) else []

    return bool(atoms(factory))


@handles(FUNCTIONS, collections.OrderedDict)
def _ordered_dict(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return dict_of_pairs(f, node, as_list(f, node, iterable(f, args[0]))) if args else empty_of_kind(f, "dict")


@handles(FUNCTIONS, collections.Counter)
def _counter(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if not args:
        return empty(replace(EMPTY["dict"], kind="dict:count"), f.span)
    items = as_list(f, node, iterable(f, args[0]))
    if nothing_known(items) or contains_unknown(type_of(items)):
        return unknown()
    return of_kind(f.program.call(f, node, iteration.counted, [items], {}), "dict:count")


@handles(ITERATION, "dict")
def _keys(f: Frame, whole: Dyn) -> Value:
    return unknown() if is_unknown(whole) else column(f, whole, 0)


@handles(ITERATION, "set")
def _no_order(f: Frame, whole: Dyn) -> Value:
    raise Refused("the order of a set is not known", "write `sorted(...)` around it")


@handles(MEMBERSHIP, "set", "dict")
def _member(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    return contains(f, node, whole, key)
