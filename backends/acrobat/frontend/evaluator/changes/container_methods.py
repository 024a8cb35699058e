"""Methods of sets and dictionaries: those that are called for their result, and those that stand as statements."""

from __future__ import annotations

import ast
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from functools import partial

from backends.acrobat.core.types import BOOL, DICT, LIST, SET, ListT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.changes.indices import found_before
from backends.acrobat.frontend.evaluator.changes.mutation import place
from backends.acrobat.frontend.evaluator.changes.putting import ChangedPlace, give
from backends.acrobat.frontend.evaluator.choices.choice import among, are_dictionaries, choose
from backends.acrobat.frontend.evaluator.containers.any_order import counted_in_any_order
from backends.acrobat.frontend.evaluator.containers.containers import (
    as_key,
    as_set,
    at_key,
    column,
    contains,
    dict_of_pairs,
    empty_of_kind,
    in_any_order,
    items_of,
    kind_of,
    of_kind,
    put,
    set_of,
)
from backends.acrobat.frontend.evaluator.containers.counters import is_counter, updated
from backends.acrobat.frontend.evaluator.containers.records import updated as updated_record
from backends.acrobat.frontend.evaluator.containers.set_operators import SET_METHODS, merged, of_sets
from backends.acrobat.frontend.evaluator.containers.walked_sets import note_difference
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.derived_values import derived_class
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread
from backends.acrobat.frontend.evaluator.lists.growing import grown
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list, first_items, list_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, elements_of, seen_inside
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import ITEMS_PUT, METHODS, handles
from backends.acrobat.frontend.instances.joined import PlaceInSource
from backends.acrobat.frontend.instances.record_classes import is_name
from backends.acrobat.frontend.kinds import (
    is_unknown,
    known,
    nothing_known,
    plain_container,
    type_inside,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import Keywords, Method, OneOf
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import NONE, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess, is_empty, unknown
from backends.acrobat.library import dictionaries, searching, sets

KEEP_CLASS = (OrderedDict, defaultdict)
"""Dictionaries whose `copy` is one of the class of the source that is derived from them."""


def _as_value(f: Frame, whole: Dyn, value: Value) -> Value:
    """A value that stands beside those of a dictionary: an empty list, set or dictionary takes their type."""
    assert isinstance(whole.type, ListT) and isinstance(whole.type.item, TupleT)
    item = whole.type.item.items[1]
    # `neighbours.get(i, ())`, which is only looked through
    if value == TupleV(()) and isinstance(item, ListT) and item.container != "tuple":
        return f.coerce(list_of(f, ast.Pass(), []) if item.kind == LIST else empty_of_kind(f, item.container), item)
    return f.coerce(value, item) if is_empty(value) else value


@handles(METHODS, "set", "dict")
def _method(f: Frame, node: ast.AST, method: Method, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A method of a set or dictionary that is called for its result."""
    whole, name = method.owner, method.name
    args = [as_set(f, node, a) for a in args]
    if name in ("popitem", "move_to_end") and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _at_an_end(f, node, node.func.value, whole, name, CallArguments(name, list(args), kwargs))
    if kwargs:
        return None
    kind = kind_of(whole)
    if is_unknown(whole) and name != "setdefault":  # this one enters something, whose type tells that of the dictionary
        f.program.incomplete = True  # nothing is in it so far
        known = name in ("get", "pop") and len(args) == 2 and not nothing_known(args[1])
        return guess(type_of(args[1])) if known and type_or_none(args[1]) not in (None, NONE) else unknown()
    match kind, name, list(args):
        case "dict", "items", []:
            return items_of(whole)
        case "dict", "keys", []:
            return column(f, whole, 0)
        case "dict", "values", []:
            return column(f, whole, 1)
        case "dict", "__getitem__", [key] if type_of(whole).kind.missing is None:
            return at_key(f, node, whole, key)
        case _, "__contains__", [key]:
            return contains(f, node, whole, key)
        case "dict", "get", [key, *default] if len(default) < 2:
            return _get(f, node, whole, key, default[0] if default else Static(None))
        case "dict", "most_common", counts if len(counts) <= 1:
            ordered = f.program.call(f, node, dictionaries.most_common, [items_of(whole)], {})
            return first_items(f, node, ordered, counts[0] if counts else Static(None))
        case "dict", "total", [] if is_counter(whole):
            return f.program.call(f, node, dictionaries.total_count, [items_of(whole)], {})
        case "dict", "elements", [] if is_counter(whole):
            return f.program.call(f, node, dictionaries.repeated_keys, [items_of(whole)], {})
        case "dict", "pop", [key, *others] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return _pop(f, node, node.func.value, whole, key, others)
        case "dict", "setdefault", [key, *given] if (
            len(given) < 2 and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ):
            return _set_default(f, node, node.func.value, whole, key, given[0] if given else Static(None))
        case "set", "union", [spread] if is_spread(spread):  # `set().union(*sets)`
            text = "{item for part in parts for item in part}"
            names = {"part": hidden("part", node), "item": hidden("item", node)}  # type: ignore[arg-type]
            more = f.expression(quoted_expression(node, text, parts=CompiledNode(spread.value), **names))
            together = of_sets(f, node, "bitor", whole, more)
            return unknown() if together is None else together
        case "set", "union" | "intersection" | "difference" | "symmetric_difference" | "issubset" | "issuperset", [other]:
            is_set = kind_of(other) == "set"
            other = other if is_set else set_of(f, node, iterable(f, other))
            together = of_sets(f, node, SET_METHODS[name], whole, other)
            if together is None:
                return unknown()
            return note_difference(f, together, whole, other) if name == "difference" and is_set else together
        case "set", "isdisjoint", [other]:
            other = other if kind_of(other) == "set" else set_of(f, node, iterable(f, other))
            both = of_sets(f, node, "bitand", whole, other)
            if both is None or is_unknown(both):
                return unknown()
            return f.host("eq", [length(f, items_of(both)), Static(0)], BOOL, "disjoint")
        case (("set" | "dict"), "copy", []):
            cls = derived_class(f, whole)
            same: Value = whole if cls is None or issubclass(cls, KEEP_CLASS) else plain_container(whole)
            return same
    return f.problem(node, f"`{name}` of a {kind} is not in the language here", "LANGUAGE.md lists what is")


def _get(f: Frame, node: ast.AST, whole: Dyn, key: Value, default: Value) -> Value:
    """`whole.get(key, default)`."""
    default = _as_value(f, whole, default)
    if is_unknown(key) or is_unknown(default):
        return unknown()
    is_in = contains(f, node, whole, key)
    if is_unknown(is_in):
        return unknown()
    return choose(f, ast.Pass(), is_in, lambda: at_key(f, node, whole, key, True), lambda: default)


def _pop(f: Frame, node: ast.AST, owner: ast.expr, whole: Dyn, key: Value, default: Sequence[Value]) -> Value:
    """`owner.pop(key)` or `owner.pop(key, default)`, which takes the entry out of the dictionary."""
    at = place(f, node, owner, "pop")
    if at is None:
        return unknown()
    is_in = contains(f, node, whole, key)
    if default:
        value = choose(f, ast.Pass(), is_in, lambda: at_key(f, node, whole, key, True), lambda: _as_value(f, whole, default[0]))
    else:
        value = at_key(f, node, whole, key)
    rest = f.program.call(f, node, dictionaries.without_key, [items_of(whole), key], {})
    give(f, at[0], of_kind(rest, type_of(whole).kind))
    return value


def _at_an_end(f: Frame, node: ast.AST, owner: ast.expr, whole: Dyn, name: str, call: CallArguments) -> Value:
    """`owner.popitem(last)`, which takes the last entry out of the dictionary or, of an OrderedDict with `last=False`, the
    first; and `owner.move_to_end(key, last)`."""
    *key, last = call.bind(*(["key"] if name == "move_to_end" else []), "last", last=Static(True))
    at = place(f, node, owner, name)
    if at is None or is_unknown(whole) or any(map(nothing_known, key)):
        return unknown()
    end = Static(bool(constant(last, "`last`")))
    if name == "popitem":
        entry_and_others = f.components(f.program.call(f, node, dictionaries.popped_entry, [items_of(whole), end], {}))
        entry, rest = entry_and_others or [unknown(), unknown()]
    else:
        entry, rest = (
            Static(None),
            f.program.call(f, node, dictionaries.moved_to_end, [items_of(whole), as_key(f, whole, key[0]), end], {}),
        )
    give(f, at[0], of_kind(rest, type_of(whole).kind))
    return entry


def _set_default(f: Frame, node: ast.AST, owner: ast.expr, whole: Dyn, key: Value, default: Value) -> Value:
    """`owner.setdefault(key, default)`, which enters the default where the key is missing."""
    at = place(f, node, owner, "setdefault", None)
    if at is None:
        return unknown()
    is_in = contains(f, node, whole, key)
    default = _as_value(f, whole, default)
    value = choose(f, ast.Pass(), is_in, lambda: at_key(f, node, whole, key, True), lambda: default)
    give(f, at[0], put(f, node, whole, key, value))
    return value


def _entries_by_name(f: Frame, owner: ast.expr, argument: ast.expr) -> Value | None:
    """The entries that are written for the `update` of a dictionary whose keys are names. (They are no dictionary of their own,
    whose order of the names would be that of all dictionaries with these names.) None for other arguments."""
    if not isinstance(argument, ast.Dict) or not argument.keys:
        return None
    names = [k.value for k in argument.keys if isinstance(k, ast.Constant) and is_name(k.value)]
    if len({*names}) < len(argument.keys):
        return None
    with f.trial():
        if not records_of(f, f.borrowed(owner)):
            return None
    return Keywords(tuple(zip(names, map(f.expression, argument.values), strict=True)))


def change(f: Frame, s: ast.stmt, owner: ast.expr, name: str, args: Sequence[ast.expr]) -> None:
    """Compile a method call that stands as a statement and changes the set or dictionary `owner`: `s.add(x)` and the like."""
    given = elements_of if name.endswith("update") else Frame.expression
    written = lambda a: _entries_by_name(f, owner, a) or as_set(f, s, f.as_number(given(f, a)))  # noqa: E731
    if len(args) == 1:
        args = [counted_in_any_order(f, owner, name, args[0])]
    owner, values = found_before(f, owner, args, lambda: [written(a) for a in args])
    place_and_value = place(f, s, owner, name)
    if place_and_value is None:
        return
    who, whole = place_and_value
    if any(changeable(f, type_inside(v)) and not fresh_inside(f, a) for v, a in zip(values, args, strict=True)):
        seen_inside(f, owner)
    if any(map(nothing_known, values)):
        return
    match kind_of(whole), name, values:
        case "set", "add", [x]:
            try:
                joined = grown(f, whole, type_of(x))
            except Mismatch:
                f.problem(s, f"this set holds {describe(type_of(whole).item)}, this adds {describe(type_of(x))}")
                return
            if contains_unknown(joined):
                give(f, who, f.not_yet(joined))
                return
            items = items_of(f.coerce(whole, joined))
            give(f, who, of_kind(f.program.call(f, s, sets.with_item, [items, f.coerce(x, joined.item)], {}), SET))
        case "set", "discard", [x] if not is_unknown(whole):
            items = items_of(whole)
            give(f, who, of_kind(f.program.call(f, s, sets.without_item, [items, x], {}), SET))
        case "dict", "update" | "subtract", [other] if is_counter(whole):
            give(f, who, updated(f, s, whole, name, other))
        case _, "update", [other] if records_of(f, whole) or kind_of(whole) == "dict" and records_of(f, other):
            is_dict = records_of(f, other) or isinstance(other, (Keywords, Static)) or kind_of(other) == "dict"
            more = other if is_dict else _dictionary_from(f, s, other)
            give(f, who, updated_record(f, s, whole, more))
        case "dict", "update", [other]:
            give(f, who, merged(f, s, whole, _dictionary_from(f, s, other)))
        case "set", "remove", [x] if not is_unknown(whole):
            give(f, who, of_kind(f.program.call(f, s, searching.without_first, [items_of(whole), x], {}), SET))
        case "set", "intersection_update" | "difference_update", [xs] if not is_unknown(whole):
            other = xs if kind_of(xs) == "set" else set_of(f, s, iterable(f, xs))
            left = of_sets(f, s, "bitand" if name == "intersection_update" else "sub", whole, other)
            give(f, who, unknown() if left is None else left)
        case "set", "update", [xs] if is_unknown(whole):
            give(f, who, set_of(f, s, iterable(f, in_any_order(f, s, xs))))
        case "set", "update", [xs]:
            more = as_list(f, s, iterable(f, in_any_order(f, s, xs)))
            give(f, who, of_kind(f.program.call(f, s, sets.union, [items_of(whole), more], {}), SET))
        case _:
            f.problem(s, f"`{name}` is not in the language here", "LANGUAGE.md lists what is")


def _dictionary_from(f: Frame, s: ast.AST, entries: Value) -> Value:
    """The dictionary of what `update` is given: a dictionary, a constant one, one of several of these, or pairs."""
    if isinstance(entries, OneOf) and are_dictionaries([entries]):
        return among(f, s, entries.index, [partial(_dictionary_from, f, s, each) for each in entries.alternatives])
    if are_dictionaries([entries]):
        pairs = [*known(entries)[1].items()]
        return of_kind(f.staged(Static(pairs)), DICT) if pairs else empty_of_kind(f, "dict")  # type: ignore[arg-type]
    return entries if kind_of(entries) == "dict" else dict_of_pairs(f, s, as_list(f, s, iterable(f, entries)))


@handles(ITEMS_PUT, "dict")
def _put_entry(f: Frame, s: ast.AST, name: str | ChangedPlace, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d[key] = value`. Where the values of a dictionary that the function begins with `{}` have no type together, and the key
    is a name that is known, the dictionary may be one of named entries in a further attempt."""
    keys = [f.expression(e) for e in entries]
    key = keys[0] if len(keys) == 1 else TupleV(tuple(keys))
    try:
        give(f, name, put(f, s, whole, key, value))
    except Mismatch:
        if is_name(known(key)[1]) and (begun := _begun_empty(f, s)) is not None:
            f.program.datatypes.met.named_dicts.add(begun)
        raise


def _begun_empty(f: Frame, s: ast.AST) -> PlaceInSource | None:
    """The place of the `{}` that alone the function assigns to the name of which an item is assigned to; None where there is no
    such one."""
    match s:
        case ast.Subscript(ast.Name(name)) if f.definition is not None:
            made = [x for x in every_node(f.definition) if isinstance(x, ast.Name) and x.id == name]
            made = [x for x in made if isinstance(x.ctx, ast.Store)]
            begun = [d for x in every_node(f.definition) if (d := _given_empty(x, name)) is not None]
            return (f.file, begun[0].lineno, begun[0].col_offset) if len(begun) == len(made) == 1 else None
    return None


def _given_empty(s: ast.AST, name: str) -> ast.Dict | None:
    """The `{}` that a statement assigns to a name; None for other statements."""
    match s:
        case ast.Assign([ast.Name(target)], ast.Dict([]) as d) | ast.AnnAssign(ast.Name(target), _, ast.Dict([]) as d):
            return d if target == name else None
    return None
