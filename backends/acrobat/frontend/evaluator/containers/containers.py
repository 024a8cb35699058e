"""Sets and dictionaries that the model makes, and dictionaries of an instance whose keys differ between instances.

The program has them as lists in order of insertion: a set as its elements, each once, a dictionary as (key, value) pairs.
`ListT.kind` distinguishes them from lists in the front end. A look-up takes time proportional to their size.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import BOOL, COUNTER, DICT, FLOAT, INT, LIST, SET, DataT, ListKind, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, fail, open_optional, optional
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.growing import grown
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import CALLS, CHANGED_BY_READING, ITERATION, MEMBERSHIP, handles
from backends.acrobat.frontend.instances.default_dicts import OTHER
from backends.acrobat.frontend.kinds import as_kind, is_container, is_unknown, kind, nothing_known, type_of, type_or_none
from backends.acrobat.frontend.present_keys import is_present
from backends.acrobat.frontend.specials import SharedFactory
from backends.acrobat.frontend.syntax_nodes import before_brackets, mentions, parameter_names
from backends.acrobat.frontend.types import SYMBOL, UNKNOWN, contains_unknown, is_never_filled, is_tuple_type
from backends.acrobat.frontend.values import Dyn, Static, Value, guess, is_empty, unknown
from backends.acrobat.library import dictionaries, searching, sets

EMPTY = {"set": ListT(UNKNOWN, kind=SET), "dict": ListT(TupleT((UNKNOWN, UNKNOWN)), kind=DICT)}


def kind_of(value: Any) -> str:
    """ "set" or "dict", or "" for other values."""
    t = type_or_none(value)
    whole = t.container if isinstance(t, ListT) else ""
    return whole if whole in ("set", "dict") else ""


def default_of(f: Frame, whole: Any) -> Value | None:
    """The default of a `defaultdict` or `Counter` for missing keys; None for a dictionary where these are an error."""
    t = type_or_none(whole)
    match t.kind.missing.maker if isinstance(t, ListT) and t.kind.missing is not None else "":
        case "int" | "count":
            return Static(0)
        case "float":
            return Static(0.0)
        case "bool":
            return Static(False)
        case "str":
            return Static("")
        case "list":
            return f.empty(ListT(UNKNOWN))
        case "counts":
            return f.empty(replace(EMPTY["dict"], kind=COUNTER))
        case "set" | "dict" as which:
            return empty_of_kind(f, which)
        case made if made in f.program.factories or made in f.program.datatypes.factories:
            factory = f.program.factories.get(made) or f.program.wrap(f.program.datatypes.factories[made])
            return CALLS[kind(factory)](f, ast.Pass(), factory, [], {}, "default")
    return None


def items_of(value: Any) -> Dyn:
    """A set or dictionary as the list of its elements or pairs."""
    return as_kind(value, LIST)


def of_kind(value: Value, kind: ListKind) -> Value:
    """A list of elements as a set, or of pairs as a dictionary."""
    if is_unknown(value) and not is_container(value):
        return unknown()
    return as_kind(value, kind)


def empty_of_kind(f: Frame, kind: str) -> Dyn:
    return f.empty(EMPTY[kind])


# ---- making


def set_of(f: Frame, node: ast.AST, items: Value) -> Value:
    """The set of the elements of a list."""
    whole = as_list(f, node, items)
    if nothing_known(whole):
        return unknown()
    if contains_unknown(type_of(whole)):
        return empty_of_kind(f, "set")
    return of_kind(f.program.call(f, node, sets.distinct, [whole], {}), SET)


def as_set(f: Frame, node: ast.AST, value: Value) -> Value:
    """A set that is known at compile time, and not empty, as one of the program; other values unchanged. Raises Refused."""
    if not isinstance(value, Static) or not isinstance(value.value, (set, frozenset)) or not value.value:
        return value
    items = sorted(value.value, key=repr)  # an order that is the same in each process, as that of strings in a set is not
    whole = list_of(f, node, [f.program.wrap(x) for x in items])
    if not is_container(whole):
        raise Refused("the elements of this set are of several types", "make a set of each type")
    return of_kind(whole, SET)


def staged_constant(f: Frame, node: ast.AST, constant: Any) -> Value:
    """The value of a constant that is one of several: a set is one of the program, so that others may stand in its place."""
    if not isinstance(constant, (set, frozenset)):
        return f.program.wrap(constant)
    return as_set(f, node, Static(constant)) if constant else empty_of_kind(f, "set")


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
    if is_never_filled(type_of(pairs)):
        return empty_of_kind(f, "dict")
    if not is_tuple_type(item := type_of(pairs).item):
        raise Refused(f"`dict` takes pairs, not {describe(item)}")
    return of_kind(f.program.call(f, node, dictionaries.from_pairs, [pairs], {}), DICT)


def put(f: Frame, node: ast.AST, whole: Value, key: Value, value: Value) -> Value:
    """The dictionary with `value` at `key`."""
    key, value = f.as_number(key), f.as_number(value)
    if any(map(nothing_known, (whole, key, value))):
        return unknown()
    joined = grown(f, whole, TupleT((type_of(key), type_of(value))))
    if contains_unknown(joined):
        return f.not_yet(joined)
    pairs = items_of(f.coerce(whole, joined))
    assert isinstance(joined.item, TupleT)
    k, v = (f.coerce(x, wanted) for x, wanted in zip((key, value), joined.item.items, strict=True))
    return of_kind(f.program.call(f, node, dictionaries.put, [pairs, k, v], {}), joined.kind)


# ---- asking


def enters_missing_keys(value: Value) -> bool:
    """Whether looking up a missing key enters it into the dictionary, as a `defaultdict` does."""
    t = type_or_none(value)
    return isinstance(t, ListT) and t.kind.missing not in (None, COUNTER.missing)


def entered_by_lookup(f: Frame, node: ast.AST) -> str | None:
    """The name of the dictionary into which the expression `node` may enter a key by looking it up, as `groups[k]` of a
    `defaultdict` does, where the function can notice it; None for other expressions, and where something else may refer to the
    dictionary (`missing_keys`)."""
    match node:
        case ast.Subscript() if is_present(node):
            return None
        case ast.Subscript(ast.Name(name), ctx=ast.Load()) if enters_missing_keys(f.env.get(name, unknown())):
            return name if name in f.owned and (keeps_default(f, f.env[name]) or has_uses_beyond_lookup(f, name)) else None
    return None


def keeps_default(f: Frame, whole: Value) -> bool:
    """Whether the value that a `defaultdict` gives for a missing key is a shared list (`shared_lists`) or an object that is
    referred to by a number, so that the dictionary has to keep it: it may be changed under another name."""
    t = type_or_none(whole)
    missing = t.kind.missing if isinstance(t, ListT) else None
    if missing is None or not isinstance(t.item, TupleT):
        return False
    if isinstance(f.program.factories.get(missing.maker), SharedFactory):
        return True
    given = f.without_none(t.item.items[1])
    if not isinstance(given, DataT) and missing.maker in f.program.factories:  # nothing was put into it so far
        with f.trial():
            given = type_or_none(default_of(f, whole) or unknown())
    return isinstance(given, DataT) and f.program.datatypes.is_referenced(given.name)


CHANGED_BY_READING.append(keeps_default)


def has_uses_beyond_lookup(f: Frame, name: str) -> bool:
    """Whether the function uses the dictionary otherwise than to look up or assign entries, and so can notice further keys."""
    if f.definition is None or name in parameter_names(f.definition):
        return True
    return any(x not in before_brackets(f.definition) for x in mentions(f.definition, name, ast.Load))


def look_up(f: Frame, node: ast.AST, whole: Dyn, key: Value, missing: Arm | None = None) -> Value:
    """`whole[key]`; a missing key gives the dictionary's default, or `missing()`, or is an error of the instance."""
    default = default_of(f, whole)
    if default is not None and not nothing_known(key):
        is_in = contains(f, node, whole, key)
        if isinstance(default, Dyn) and isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT):
            value_type = whole.type.item.items[1]
            if isinstance(value_type, ListT) and _as_made(value_type.kind) == getattr(default.type, "kind", None):
                default = as_kind(default, value_type.kind)
            default = f.coerce(default, value_type) if isinstance(value_type, ListT) else default
        if is_unknown(whole):
            return default
        return choose(f, ast.Pass(), is_in, lambda: at_key(f, node, whole, key, True), missing or (lambda: default))
    return at_key(f, node, whole, key)


def _as_made(kind: ListKind) -> ListKind:
    """The kind of a dictionary that the model makes, which gives for missing keys what one of this kind does."""
    return kind if kind.missing is None else replace(kind, missing=replace(kind.missing, given=False))


def at_key(f: Frame, node: ast.AST, whole: Dyn, key: Value, there: bool = False) -> Value:
    """The value of a key, which is known to be `there`; else a missing key is an error of the instance."""
    if is_unknown(whole) or is_unknown(key):
        t = whole.type.item.items[1] if isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT) else UNKNOWN
        return unknown() if contains_unknown(t) and not isinstance(t, (ListT, TupleT)) else guess(t)
    whole = for_key(f, whole, key)
    pairs = items_of(whole)
    at = f.program.call(f, node, dictionaries.place_of, [pairs, as_key(f, whole, key)], {})
    if is_unknown(at):
        return unknown()
    if not there:
        size = f.host("list.len", [pairs], INT, "size")
        place, is_in = at, f.host("lt", [at, size], BOOL, "there")
        at = choose(f, ast.Pass(), is_in, lambda: place, lambda: _no_such_key(f, whole, key))
    pair = f.host("list.get", [pairs, at], pairs.type.item, "entry")  # type: ignore[union-attr]
    return (f.components(pair) or [unknown(), unknown()])[1]


def _no_such_key(f: Frame, whole: Dyn, key: Value) -> Value:
    """The error of a missing key, which shows the key as Python does."""
    if type_of(whole).kind.missing == OTHER:
        return fail(f, "it is not known what this dictionary gives for a missing key: write `.get(key, default)`")
    parts = f.components(key)
    values = [p for p in parts or [key] if type_of(p) in (INT, BOOL, FLOAT, SYMBOL)]
    shown = ["{!r}" if p in values else f"<{describe(type_of(p))}>" for p in parts or [key]]
    strings = frozenset(i for i, v in enumerate(values) if type_of(v) == SYMBOL)
    return fail(f, f"KeyError: {'(' if parts else ''}{', '.join(shown)}{')' if parts else ''}", values, strings)


def for_key(f: Frame, whole: Dyn, key: Value) -> Dyn:
    """A dictionary or set in which a key can be looked up. If the keys so far are tuples of one length and the key is a tuple
    of another or of any length, they become tuples of any length, as where all keys so far are `()`. Tuples inside of them are
    treated alike."""
    keys, own = _type_of_keys(whole), type_of(key)
    if not isinstance(keys, TupleT) or not is_tuple_type(own):
        return whole
    if _lengths(own) == _lengths(keys):
        return whole
    joined = f.common([keys, own])
    assert isinstance(whole.type, ListT)
    item = whole.type.item
    if isinstance(item, TupleT) and kind_of(whole) == "dict":
        joined = replace(item, items=(joined, *item.items[1:]))
    return f.coerce(whole, replace(whole.type, item=joined))  # type: ignore[return-value]


def _lengths(t: Any) -> tuple[Any, ...] | None:
    """The lengths of a tuple and of those in it, nested as they are; None for a type without a known length."""
    return tuple(_lengths(x) for x in t.items) if isinstance(t, TupleT) else None


def as_key(f: Frame, whole: Dyn, key: Value) -> Value:
    """A key as one of the type that the keys of a dictionary, or the elements of a set, have."""
    return f.coerce(key, _type_of_keys(whole))


def _type_of_keys(whole: Dyn) -> Any:
    """The type of the keys of a dictionary, or of the elements of a set."""
    assert isinstance(whole.type, ListT)
    return whole.type.item.items[0] if isinstance(whole.type.item, TupleT) and kind_of(whole) == "dict" else whole.type.item


def elements(f: Frame, whole: Dyn) -> Value:
    """The keys of a dictionary, or the elements of a set, as a list."""
    if is_unknown(whole):
        return unknown()
    return items_of(whole) if kind_of(whole) == "set" else column(f, whole, 0)


def in_any_order(f: Frame, node: ast.AST, value: Value) -> Value:
    """The elements of a set as a list, for a function whose result does not depend on their order; other values unchanged."""
    value = as_set(f, node, value)
    return elements(f, value) if kind_of(value) == "set" else value  # type: ignore[arg-type]


def only_element(f: Frame, node: ast.AST, whole: Dyn, default: Value | None) -> Value:
    """`next(iter(whole), default)` of a set with one element; with more, whose order is not known, it is an error of the
    instance."""
    if is_unknown(whole) or default is not None and is_unknown(default):
        return unknown()
    items = items_of(whole)
    is_one = f.host("le", [length(f, items), Static(1)], BOOL, "one")
    message = "the order of a set is not known: `next(iter(s))` takes the element of one that has no other"
    at = choose(f, node, is_one, lambda: Static(0), lambda: fail(f, message))
    element = lambda: f.host("list.get", [items, at], type_of(items).item, "element")  # noqa: E731
    if default is None:
        return element()
    return choose(f, node, f.host("gt", [length(f, items), Static(0)], BOOL, "some"), element, lambda: default)


def column(f: Frame, whole: Dyn, which: int) -> Value:
    """The keys (0) or the values (1) of a dictionary."""
    return mapped(f, [items_of(whole)], lambda pair: (f.components(pair) or [unknown(), unknown()])[which])


def contains(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    if is_unknown(whole):  # what is done with a missing key may tell the type
        f.program.incomplete |= not is_empty(whole)
        return Static(False)
    if is_never_filled(whole.type):
        return Static(False)
    if is_unknown(key):
        return unknown()
    if isinstance(key, Dyn) and optional(f, key) is not None and f.without_none(_type_of_keys(whole)) == _type_of_keys(whole):
        return open_optional(f, node, key, lambda some: contains(f, node, whole, some), lambda: Static(False))
    has = searching.contains if kind_of(whole) == "set" else dictionaries.has_key
    whole = for_key(f, whole, key)
    return f.program.call(f, node, has, [items_of(whole), as_key(f, whole, key)], {})


@handles(ITERATION, "dict")
def _keys(f: Frame, whole: Dyn) -> Value:
    return unknown() if is_unknown(whole) else column(f, whole, 0)


@handles(MEMBERSHIP, "set", "dict")
def _member(f: Frame, node: ast.AST, whole: Dyn, key: Value) -> Value:
    return contains(f, node, whole, key)
