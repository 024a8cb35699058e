"""Constant objects that are referred to by numbers: what they have in an attribute is a table (`instances/constant_graphs.py`).

An entry of such a table may be a number or a string, None, another object, or a list, tuple, set or dictionary of entries. A
list is made where it is read, from a table with the elements of all lists and two with where each begins and ends.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any

from backends.acrobat.core.exact import exactly
from backends.acrobat.core.types import COUNTER, DICT, IDENTITY, INT, SET, DataT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import among, are_functions, at_index, choose, fail
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import by_class, class_attribute
from backends.acrobat.frontend.evaluator.objects.constants import LARGEST, constants
from backends.acrobat.frontend.evaluator.objects.fields import field_at_first
from backends.acrobat.frontend.evaluator.tables import FIELDS_READ, FIELDS_WRITTEN, NUMBERED
from backends.acrobat.frontend.instances.constant_graphs import DICTIONARIES, attributes_or_entries, is_node
from backends.acrobat.frontend.instances.observed import attributes
from backends.acrobat.frontend.kinds import as_tuple, is_unknown, type_of, type_or_none
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess
from backends.acrobat.ir import nodes as n

MISSING = object()
"""The value of an attribute that an object does not have."""

CONTAINERS: dict[type, str] = {
    tuple: "tuple",
    list: "list",
    set: "set",
    frozenset: "set",
    dict: "dict",
    OrderedDict: "dict",
    defaultdict: "dict",  # a missing key is an error of the instance: in Python the model would have it from then on
    Counter: "Counter",
}
"""The types of values that are made where they are read, with the kinds of their types in the program."""
Column = Mapping[int, Any]
"""Values by number. Other numbers are never looked up."""


def refers(f: Frame, x: Any) -> bool:
    """Whether the program refers to a constant by a number: an object among several of its class that lead to each other, one
    with a dictionary or set in an attribute, for which the program has no value, or a dictionary of dictionaries."""
    graphs = f.program.datatypes.graphs
    if type(x) in DICTIONARIES or graphs.is_module(x):
        return graphs.leads_on(x)
    if not is_node(x) or type(x) in graphs.whole:
        return False
    held = (attributes(x) or {}).values()
    return graphs.knows(type(x)) or any(isinstance(v, (dict, set, frozenset)) for v in held) or graphs.leads_to_others(x)


def reference(f: Frame, x: Any) -> Value:
    """A constant object as a number."""
    cls, union = f.program.datatypes.refer_to(x)
    return _object(f, cls, Static(f.program.datatypes.graphs.number_of(x)), DataT(union))


def _numbered(f: Frame, value: Static | OneOf) -> Value | None:
    """A constant object as a number, or one of several dictionaries that is chosen at run time; None for others."""
    if isinstance(value, Static):
        return reference(f, value.value) if refers(f, value.value) else None
    constants = [v.value for v in value.alternatives if isinstance(v, Static) and refers(f, v.value)]
    if len(constants) < len(value.alternatives) or not value.of_containers:
        return None
    return among(f, ast.Pass(), value.index, [partial(reference, f, x) for x in constants])


NUMBERED.append(_numbered)


def _object(f: Frame, cls: type, number: Value, t: DataT) -> Value:
    return f.bind(n.Construct(cls.__name__, (f.atom(number),), t, span=f.span), cls.__name__.lower())


def read_constant(f: Frame, node: ast.AST, owner: Dyn, name: str, default: Value | None = None) -> Value | None:
    """The value of `owner.name` of a constant object; None for other objects, and for what is no attribute of its own."""
    assert isinstance(owner.type, DataT)
    datatypes = f.program.datatypes
    if name == IDENTITY or not datatypes.is_constant(owner.type.name):
        return None
    classes = datatypes.cases[owner.type.name]
    objects = {c: datatypes.graphs.of(c) for c in classes}
    have = [c for c in classes if any(name in attributes_or_entries(x) for x in objects[c].values())]
    if not have:
        return None
    columns = {c: {i: _attribute(f, x, name) for i, x in objects[c].items()} for c in have}
    number = field_at_first(f, owner, classes, IDENTITY)

    def of(cls: type) -> Value:
        if cls not in have:
            return _of_class(f, node, owner, cls, name)
        there = {i: v for i, v in columns[cls].items() if v is not MISSING}
        value = partial(entry_at, f, node, there, number)
        if len(there) == len(columns[cls]):
            return value()
        has = scalar_at(f, {i: i in there for i in columns[cls]}, number)
        return choose(f, node, has, value, partial(fail, f, f"AttributeError: a {cls.__name__} has no `{name}`"))

    return by_class(f, node, owner, classes, of)


FIELDS_READ.append(read_constant)


def _refuse_to_write(f: Frame, node: ast.AST, owner: Value, name: str, value: Value) -> bool:
    """No attribute of a constant object is assigned to: in Python it would have the value in the next call, too."""
    t = f.without_none(type_or_none(owner))
    if isinstance(t, DataT) and f.program.datatypes.is_constant(t.name):
        cls = f.program.datatypes.cases[t.name][0].__name__
        what = f"`{name}` of a `{cls}` that was made outside of `forward` is assigned to, and the next call would see it"
        raise Refused(what, "keep what is computed in a dictionary, or in an object that `forward` makes")
    return False


FIELDS_WRITTEN.append(_refuse_to_write)


def _attribute(f: Frame, x: Any, name: str) -> Any:
    """The value of an attribute of a constant object, which is noted: its own, or a number or string of its class."""
    if name in attributes_or_entries(x):
        value = getattr(x, name)
    else:
        value = inspect.getattr_static(type(x), name, MISSING)
        if value is MISSING:
            return MISSING
        if not (value is None or isinstance(value, (bool, int, float, str, tuple, Enum))):
            what = f"`{name}` is an attribute of some objects, and something of the class of a `{type(x).__name__}`"
            raise Refused(what, "give it another name in one of them")
    if f.program.datatypes.graphs.is_module(x):
        f.program.reads.note_part(x, name)
    else:
        f.program.reads.note_object(x, name, value)
    return value


def _of_class(f: Frame, node: ast.AST, owner: Dyn, cls: type, name: str) -> Value:
    """What a class has under a name that objects of other classes have as an attribute."""
    result = class_attribute(f, node, owner, (cls,), name)
    if isinstance(result, Method):
        what = f"`{name}` is an attribute of some objects, and a method of a `{cls.__name__}`"
        raise Refused(what, "ask for the class before")
    return fail(f, f"AttributeError: a {cls.__name__} has no `{name}`") if result is None else result


# ---- tables


def entry_at(f: Frame, node: ast.AST, column: Column, at: Value) -> Value:
    """The entry of a table at a place that is known at run time only."""
    by_kind: dict[Any, dict[int, Any]] = {}
    for i, v in column.items():
        by_kind.setdefault(_kind(f, v), {})[i] = v
    kinds = list(by_kind)
    which = scalar_at(f, {i: k for k, kind in enumerate(kinds) for i in by_kind[kind]}, at)
    return among(f, node, which, [partial(_of_kind, f, node, kind, by_kind[kind], at) for kind in kinds])


def _kind(f: Frame, v: Any) -> Any:
    """The kind of a value in a table: values of one kind are kept in one table."""
    if refers(f, v):
        return "object", f.program.datatypes.refer_to(v)[1]
    if v is None:
        return "none"
    if isinstance(v, Enum) and not isinstance(v, int):
        return "str"
    for of_number_or_string in (bool, int, float, str):
        if isinstance(v, of_number_or_string):
            return of_number_or_string.__name__
    if f.program.datatypes.graphs.lists_nodes(v):
        return "list"
    return CONTAINERS.get(type(v), "other")


def _of_kind(f: Frame, node: ast.AST, kind: Any, column: Column, at: Value) -> Value:
    if kind in ("list", "set", "dict", "Counter") and not any(map(len, column.values())):
        return Static(next(iter(column.values())))
    match kind:
        case "none":
            return Static(None)
        case "bool" | "int" | "float" | "str":
            return scalar_at(f, column, at)
        case ("object", union):
            return _references(f, node, column, at, union)
        case "tuple" if len({*map(len, column.values())}) == 1:
            size = len(next(iter(column.values())))
            return TupleV(tuple(entry_at(f, node, {i: v[k] for i, v in column.items()}, at) for k in range(size)))
        case "tuple":
            return as_tuple(list_at(f, node, column, at, ListT))
        case "list":
            return list_at(f, node, column, at, ListT)
        case "set":
            in_order = {i: sorted(v, key=repr) for i, v in column.items()}
            return list_at(f, node, in_order, at, partial(ListT, kind=SET))
        case "dict" | "Counter":
            return list_at(
                f,
                node,
                {i: list(v.items()) for i, v in column.items()},
                at,
                partial(ListT, kind=DICT if kind == "dict" else COUNTER),
            )
    return _others(f, node, column, at)


def scalar_at(f: Frame, column: Column, at: Value) -> Value:
    """A number or string, all of one type."""
    first = next(iter(column.values()))
    if all(exactly(v) == exactly(first) for v in column.values()):
        return Static(first)
    if is_unknown(at):
        return guess(type_of(Static(first)))
    table = constants(f, [Static(column.get(i, first)) for i in range(max(column) + 1)])
    return f.host("list.get", [table, at], type_of(Static(first)), "entry")


def _references(f: Frame, node: ast.AST, column: Column, at: Value, union: str) -> Value:
    """One of the constant objects of a union."""
    graphs = f.program.datatypes.graphs
    number = scalar_at(f, {i: graphs.number_of(v) for i, v in column.items()}, at)
    if is_unknown(number):
        return guess(DataT(union))
    classes = list(dict.fromkeys(graphs.class_of(v) for v in column.values()))
    which = scalar_at(f, {i: classes.index(graphs.class_of(v)) for i, v in column.items()}, at)
    return among(f, node, which, [partial(_object, f, c, number, DataT(union)) for c in classes])


def list_at(f: Frame, node: ast.AST, column: Column, at: Value, type: Callable[[Any], Any]) -> Value:
    """A list, a tuple whose length varies, a set or a dictionary, of type `type(item)`."""
    elements: list[Any] = []
    starts: dict[int, int] = {}
    for i in sorted(column):
        starts[i] = len(elements)
        elements += column[i]
    first = scalar_at(f, starts, at)
    last = scalar_at(f, {i: starts[i] + len(column[i]) for i in column}, at)
    places = f.host("range", [first, last, Static(1)], ListT(INT), "places")
    item = f.var("item", INT)
    with f.branch() as b:
        element = f.staged(entry_at(f, node, dict(enumerate(elements)), Dyn(item)))
        if is_unknown(element) or is_unknown(places):
            return guess(type(type_of(element)))
        body = b.finish(f.atom(element))
    t = type(type_of(element))
    return f.bind(n.Map(item, places.atom, body, t, span=f.span), "list")


def _others(f: Frame, node: ast.AST, column: Column, at: Value) -> Value:
    """A tensor, a module, a function, or an object that is a value of the program with all that is in it."""
    distinct = list({id(v): v for v in column.values()}.values())
    values = [f.program.wrap(v) for v in distinct]
    if len(values) == 1:
        return values[0]
    places = {id(v): k for k, v in enumerate(distinct)}
    which = scalar_at(f, {i: places[id(v)] for i, v in column.items()}, at)
    if are_functions(values):
        return at_index(f, values, which)
    if len(values) > LARGEST:
        what = f"one of {len(values)} values that are no numbers or strings is chosen here, and {LARGEST} are the most"
        raise Refused(what, "keep them in one tensor, and numbers in the objects")
    return among(f, node, which, [partial(f.staged, v) for v in values])
