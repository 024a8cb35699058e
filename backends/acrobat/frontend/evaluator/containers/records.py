"""Dictionaries whose keys are names: the same ones always, or one of a few sets of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, SET, DataT, ListT, TensorT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.callables.effects import among_calls
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, one_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.objects import constants
from backends.acrobat.frontend.evaluator.objects.classes import number_of_class, record_of, records_of
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.objects.fields import field, field_at_first, of_known_class
from backends.acrobat.frontend.evaluator.objects.referenced import is_referenced, read_attribute, write_attribute
from backends.acrobat.frontend.evaluator.tables import COERCIONS, ITEMS_PUT, METHODS, handles
from backends.acrobat.frontend.instances.record_classes import is_name
from backends.acrobat.frontend.kinds import as_kind, is_unknown, known, nothing_known, type_of
from backends.acrobat.frontend.specials import Keywords, Method
from backends.acrobat.frontend.tensor_types import innermost
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, held_in, is_empty, unknown
from backends.acrobat.ir import nodes as n


@handles(ITEMS_PUT, "object")
def _put_entry(f: Frame, s: ast.AST, where: Any, whole: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    """`d["name"] = value` of a dictionary whose keys are names written in the source. A new name makes it another record; if a
    key is known at run time only, the dictionary is a list of entries from the next round of compiling on."""
    assert isinstance(whole.type, DataT)
    classes = records_of(f, whole)
    if not classes or len(entries) != 1 or isinstance(entries[0], ast.Slice):
        f.problem(s, f"an item of {describe(whole.type)} cannot be assigned to")
        return
    key = f.expression(entries[0])
    if nothing_known(key):
        return
    is_known, name = known(key)
    if is_referenced(f, whole) and is_known and all(name in c.keys_of_record for c in classes):  # type: ignore[attr-defined]
        write_attribute(f, s, whole, name, value)
    elif len(classes) > 1 and is_known and is_name(name):
        where.put(_with_entry_of_several(f, s, whole, name, value))
    elif len(classes) == 1:
        held = {x: field(f, s, whole, x) for x in f.program.datatypes.record_fields(classes[0])}
        where.put(_with_entry(f, s, classes[0], held, key, value))
    else:
        what = f"{describe(whole.type)} gets an entry under a key that is known at run time only"
        f.problem(s, what, "begin with an empty dict, and give it values of one type")


def _with_entry(f: Frame, s: ast.AST, cls: type, fields: dict[str, Value], key: Value, value: Value) -> Value:
    """A dictionary with the entries `fields`, and with `value` at `key`."""
    datatypes, (is_known, name) = f.program.datatypes, known(key)
    if is_known and name in fields:
        return construct(f, s, cls, [], fields | {name: value})
    if is_known and is_name(name) and not datatypes.is_walked(larger := datatypes.records.class_of([*fields, name])):
        return construct(f, s, larger, [], fields | {name: value})
    if _of_one_type(f, [*fields.values(), value]):
        return as_dict(f, cls)
    shown = repr(name) if is_known else "that is known at run time only"
    what = f"this dict gets a new key {shown}, and has values of several types"
    return f.problem(s, what, "begin with an empty dict, and give it values of one type")


def _with_entry_of_several(f: Frame, s: ast.AST, whole: Dyn, name: str, value: Value) -> Value:
    """A dictionary that has one of several sets of keys with `value` at the key `name`."""
    return by_keys(f, s, whole, lambda cls, fields: _with_entry(f, s, cls, fields, Static(name), value))


def by_keys(f: Frame, node: ast.AST, whole: Dyn, work: Callable[[type, dict[str, Value]], Value]) -> Value:
    """`work(cls, entries)` of a dictionary that has one of several sets of keys, for the one that it has."""
    if f.program.datatypes.has_references:  # `work` may make a dictionary that is a number
        every = records_of(f, whole)
        which = number_of_class(f, whole, every) if len(every) > 1 else Static(0)
        return among_calls(f, node, which, [partial(_by_keys_of, f, node, whole, c, work) for c in every])
    datatypes, heads, arms = f.program.datatypes, list[tuple[str, tuple[n.Var, ...]]](), list[Arm]()
    for cls in records_of(f, whole):
        variables = {x: f.var(x, datatypes.field_type(cls, x)) for x in datatypes.record_fields(cls)}
        fields = {x: held_in(Dyn(v)) for x, v in variables.items()}
        heads.append((cls.__name__, tuple(variables[x] for x in datatypes.field_names(cls))))
        arms.append(partial(work, cls, fields))
    if any(contains_unknown(v.type) for _, variables in heads for v in variables):
        f.program.incomplete = True

    def build(type: Any, bodies: list[n.Expr]) -> n.Expr:
        parts = tuple(n.Arm(case, variables, body) for (case, variables), body in zip(heads, bodies, strict=True))
        return n.Match(whole.atom, parts, type, span=f.span)

    return one_of(f, node, arms, build)


def _by_keys_of(f: Frame, node: ast.AST, whole: Dyn, cls: type, work: Callable[[type, dict[str, Value]], Value]) -> Value:
    """`work(cls, entries)` of a dictionary that is known to have the keys of `cls`."""
    return work(cls, {x: of_known_class(f, node, whole, cls, x) for x in f.program.datatypes.record_fields(cls)})


def named_entries(f: Frame, node: ast.AST, value: Value) -> dict[str, Value] | None:
    """The entries of a dictionary whose keys are names that are known at compile time; None for other values."""
    if isinstance(value, Keywords):
        return dict(value.entries)
    if isinstance(value, Static) and isinstance(value.value, dict):
        if all(map(is_name, value.value)):
            return {k: f.program.wrap(v) for k, v in value.value.items()}
        return None
    record = record_of(f, value)
    if record is None:
        return None
    assert isinstance(value, Dyn)
    return {x: of_known_class(f, node, value, record, x) for x in f.program.datatypes.record_fields(record)}


def updated(f: Frame, node: ast.AST, whole: Value, other: Value) -> Value:
    """The dictionary `whole` with the entries of another one, where one of them has names as its keys: `{**whole, **other}`."""
    if any(map(nothing_known, (whole, other))):
        return unknown()
    records = (*records_of(f, whole), *records_of(f, other))
    if not all(records_of(f, v) or named_entries(f, node, v) is not None for v in (whole, other)):
        return as_dict(f, *records)

    def joined(entries: dict[str, Value]) -> Value:
        cls = f.program.datatypes.records.class_of(list(entries))
        return as_dict(f, *records) if f.program.datatypes.is_walked(cls) else construct(f, node, cls, [], entries)

    return _with_entries(f, node, whole, lambda a: _with_entries(f, node, other, lambda b: joined(a | b)))


def _with_entries(f: Frame, node: ast.AST, value: Value, work: Callable[[dict[str, Value]], Value]) -> Value:
    """`work(entries)` of a dictionary whose keys are names, also where it has one of several sets of them."""
    if len(records_of(f, value)) > 1:
        return by_keys(f, node, value, lambda _, entries: work(entries))  # type: ignore[arg-type]
    return work(named_entries(f, node, value) or {})


# ---- walking


def walked(f: Frame, node: ast.AST, whole: Dyn, what: str = "keys") -> Value:
    """The "items", "keys" or "values" of a dictionary whose keys are names. Where its values are of one type, it is a list of
    entries from the next round of compiling on; where they are of several, they are a tuple, and loops over it are unrolled.
    Raises Refused."""
    classes = records_of(f, whole)
    types = [f.program.datatypes.field_type(c, x) for c in classes for x in f.program.datatypes.record_fields(c)]
    if len(classes) == 1:
        if of_one_kind(f, types) or f.program.datatypes.is_walked(classes[0]):
            return as_dict(f, classes[0])
        if any(t is UNKNOWN for t in types):
            f.program.incomplete = True
            return unknown()
        entries = {x: field(f, node, whole, x) for x in f.program.datatypes.record_fields(classes[0])}
        return TupleV(tuple(_parts(entries, what)))
    if of_one_kind(f, types) or any(c in f.program.datatypes.seen or f.program.datatypes.is_walked(c) for c in classes):
        return as_dict(f, *classes)
    if what != "keys" and {INT, FLOAT} <= {*types}:
        shown = "dictionaries that lack some of the keys, and have ints and floats, are walked over by a comprehension"
        raise Refused(f"{shown} that makes a dictionary", "ask for their entries by name")
    if what != "keys":
        return as_dict(f, *classes)
    return by_keys(f, node, whole, lambda _, entries: list_of(f, node, _parts(entries, what)))


def _parts(entries: dict[str, Value], what: str) -> list[Value]:
    match what:
        case "keys":
            return [Static(x) for x in entries]
        case "values":
            return list(entries.values())
    return [TupleV((Static(x), v)) for x, v in entries.items()]


def of_one_kind(f: Frame, types: Sequence[Any]) -> bool:
    """Whether a list may have values of all these types unchanged: without an int becoming a float, and without a union of
    several types. Tensors may differ in their extents. Types that are not known yet are left out."""
    known_ones = [t for t in types if t is not UNKNOWN]
    of_tensors = all(isinstance(innermost(f.without_none(t)), TensorT) for t in known_ones)
    try:
        with f.program.datatypes.met.asking():
            whole = f.common(known_ones, numbers=of_tensors) if known_ones else UNKNOWN
    except Mismatch:
        return False
    if f.mixed(f.without_none(whole)) and any(f.without_none(t) != f.without_none(whole) for t in known_ones):
        return False
    return not (INT in known_ones and FLOAT in known_ones)


def _of_one_type(f: Frame, values: Sequence[Value]) -> bool:
    """Whether a dictionary of the program may have all these values unchanged, without an int becoming a float; True as long as
    the types of some are not known."""
    if any(map(nothing_known, values)):
        return True
    types = [type_of(v) for v in values]
    try:
        f.common(types)
    except Mismatch:
        return False
    return not (INT in types and FLOAT in types)


def as_dict(f: Frame, *classes: type) -> Value:
    """Have dictionaries with one of these sets of keys be lists of entries, in Python's order, from the next round of compiling
    on."""
    for cls in classes:
        f.program.datatypes.note_walked(cls)
    f.program.incomplete = True
    return unknown()


def _as_entries(f: Frame, value: Value, have: Any, wanted: Any) -> Value | None:
    """Coercion of a dictionary with the same keys always where an annotation wants one with keys of run time, as
    `edges: dict[str, list[int]]` does."""
    if not isinstance(wanted, ListT) or wanted.container != "dict" or not isinstance(value, Dyn):
        return None
    classes = records_of(f, value)
    return as_dict(f, *classes) if classes else None


COERCIONS.append(_as_entries)


@handles(METHODS, "object")
def _method_of_record(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    cls, several = record_of(f, method.owner), records_of(f, method.owner)
    if method.name == "get" and len(several) > 1 and not kwargs and len(args) in (1, 2) and known(args[0])[0]:
        return _got_of_several(f, method.owner, str(known(args[0])[1]), args[1] if len(args) == 2 else Static(None))
    if several and method.name == "keys" and node in f.views_as_sets:
        return _names_as_set(f, node, method.owner)
    if several and method.name in ("items", "keys", "values") and not args and not kwargs:
        return walked(f, node, method.owner, method.name)
    if len(several) > 1 and method.name == "get" and not kwargs and len(args) in (1, 2):
        return as_dict(f, *several)
    if several and method.name == "copy" and not args and not kwargs:
        return copied(f, node, method.owner)
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
            result = constants.contains(f, key, keys)
            return choose(
                f,
                node,
                result,
                lambda: constants.constant_by_key(f, node, keys, key, lambda k: field(f, node, method.owner, k)),
                lambda: otherwise,
            )
    return None


def _names_as_set(f: Frame, node: ast.AST, whole: Dyn) -> Value:
    """The keys of a dictionary whose keys are names, where their order does not matter."""
    classes = records_of(f, whole)
    if len(classes) == 1:
        return Static(frozenset(f.program.datatypes.record_fields(classes[0])))
    names = by_keys(f, node, whole, lambda _, entries: list_of(f, node, _parts(entries, "keys")))
    return unknown() if is_unknown(names) else as_kind(names, SET)


def copied(f: Frame, node: ast.AST, whole: Dyn) -> Value:
    """A copy of a dictionary whose keys are names: the same value, unless it is a numbered object."""
    if not is_referenced(f, whole):
        return whole
    return by_keys(f, node, whole, lambda cls, entries: construct(f, node, cls, [], entries))


def _got_of_several(f: Frame, value: Dyn, name: str, otherwise: Value) -> Value:
    """`value.get(name, otherwise)` of a union of records, of which some may have the key."""
    assert isinstance(value.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[value.type.name]
    have = [c for c in classes if datatypes.has_field(c, name) or name in datatypes.attribute_names(c)]
    if not have:
        return otherwise
    there = has_key(f, value, name)
    if is_unknown(there):
        return unknown()

    def default() -> Value:
        t = f.common([datatypes.field_type(c, name) for c in have])
        return otherwise if contains_unknown(t) or not is_empty(otherwise) else f.coerce(otherwise, t)

    def entry() -> Value:
        written = read_attribute(f, ast.Pass(), value, name)
        return field_at_first(f, value, have, name) if written is None else written

    return choose(f, ast.Pass(), there, entry, default)


def has_key(f: Frame, value: Dyn, name: str) -> Value:
    """Whether a dictionary that is one of several records has the key `name`."""
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases[value.type.name]
    have = [name in c.keys_of_record for c in classes]  # type: ignore[attr-defined]
    return Static(have[0]) if len({*have}) == 1 else number_of_class(f, value, classes, [n.Lit(h, BOOL) for h in have])
