"""Ownership: whether one name alone refers to a value, and to its parts. Only then is changing the value in place the same as
binding the name to a new value, which is all that the program can do.

Three claims may hold of a name; `Frame.owned` has those that do:

    claim         nothing but the name refers to               allows, for `table = [[1], [2]]` and `nodes = [Node()]`
    the name      the list or object itself                    `table.append(xs)`, `nodes[0] = other`
    `spine(name)` lists, sets and dictionaries inside of it,   `table[0].append(3)`
                  but for those inside of objects
    `deep(name)`  any part of it                               `nodes[0].x = 1`

A name gets its claims when it is bound to something new (`fresh`, `fresh_inside`), and loses them when another reference to the
value or to a part of it comes up:

    row = table[0]       a name for a part: `table` loses `spine` and `deep` (`seen_inside`)
    other = table        another name for the whole: `table` loses all
    f(table)             none, if the call gives back what it changes (`functions/changes.py`)
    self.put(table, xs)  `table` and `xs` lose what the call may have put into one another (`lending.taken_in`)

A change that no claim allows is an error at its line.

Attributes through which the program changes nothing, as `words` in `self.words = words` of a parser's state, do not count: that
something else refers to what they hold does no harm. `changed_fields` of the program has the others (`note_changed`), each once
a change through it was met; the next round of compiling counts them. `lending` has those that were taken not to count.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.origins import origins
from backends.acrobat.frontend.evaluator.syntax.syntax import Claims, claims, deep, is_last_use, spine
from backends.acrobat.frontend.instances.annotations import computes_fields
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.syntax_nodes import names_in
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Static,
    Value,
    holds_constant_list,
    is_array,
    is_container,
    is_held_tensor,
    is_object,
    type_inside,
    type_or_none,
)

MAKERS = frozenset(
    {"list", "sorted", "deque", "set", "dict", "defaultdict", "Counter", "OrderedDict", "copy", "deepcopy", "tolist"}
)
"""Functions and methods that give a list, set or dictionary of their own, by name."""
LOOKING = frozenset(
    {"len", "int", "float", "bool", "str", "range", "sum", "abs", "any", "all", "isinstance", "id", "print", "round"}
)
"""Functions of Python's whose results have no part of their arguments in them."""


def changeable(f: Frame, t: Any) -> bool:
    """Whether a value of a type, or a part of it, could be changed in place: lists and objects. Of what may be None that
    which it is otherwise counts. Of objects to whose attributes the program assigns nothing, only the parts could be."""
    return _changeable(f, t, set())


def _changeable(f: Frame, t: Any, asked: set[str]) -> bool:
    match t:
        case ListT(item, kind="tuple"):
            return _changeable(f, item, asked)
        case ListT():
            return t.rows is None
        case TupleT(items):
            return any(_changeable(f, item, asked) for item in items)
        case DataT(name) if name not in asked:
            asked.add(name)
            datatypes = f.program.datatypes
            if (inner := datatypes.optionals.get(name)) is not None:
                return _changeable(f, inner, asked)
            if mixed := f.mixed(t):
                return any(_changeable(f, inner, asked) for inner in mixed.values())
            if datatypes.is_referenced(name):
                return False  # a number, whatever is changed
            classes = datatypes.cases.get(name, ())
            if not classes or any(_may_be_assigned_to(f, c) for c in classes):
                return True
            return any(_changeable(f, datatypes.field_type(c, x), asked) for c in classes for x in datatypes.field_names(c))
    return False


def _may_be_assigned_to(f: Frame, cls: type) -> bool:
    """Whether the program may assign to attributes of objects of a class."""
    return cls in f.program.datatypes.seen or issubclass(cls, RecordOf) or cls in f.program.changed_classes


def note_assigned_to(f: Frame, classes: Iterable[type]) -> None:
    """Note that the program assigns to attributes of objects of these classes. The next round of compiling counts that."""
    if not f.program.changed_classes.issuperset(classes):
        f.program.changed_classes.update(classes)
        f.program.changed = True


def holds_parts(f: Frame, value: Any) -> bool:
    """Whether a list or an object has, or may have, parts that could be changed in place; False for other values."""
    t = None if value is None else type_or_none(value)
    return isinstance(t, DataT) or isinstance(t, ListT) and (contains_unknown(t.item) or changeable(f, t.item))


def note_list_seen_elsewhere(f: Frame, written: ast.expr | None, t: Any) -> None:
    """Note that a list, set or dictionary of a type `t` is changed while other names may refer to it. The next build may have
    such lists as shared ones (`shared_lists`): those that `written` may be, if the source tells which these are."""
    if not isinstance(t, ListT) or t.rows is not None or t.kind in ("tuple", "iterator"):
        return
    places = origins(f.definition, written) if written is not None and f.definition is not None else ()
    sites = {(f.file, *place) for place in places}
    if isinstance(written, ast.Attribute):
        sites |= f.program.datatypes.made_for.get(written.attr, set())
    f.program.datatypes.lists_seen_elsewhere.append((t, frozenset(sites)))


def refuse_earlier_owner(f: Frame, node: ast.AST, owner: Dyn) -> None:
    """Raises Refused where a method is called that was got before, `m = getattr(x, name)`, and the object may have been changed
    since: the program has the object as it was then."""
    if not isinstance(node, ast.Call) or isinstance(node.func, (ast.Attribute, ast.Call)):
        return
    if not isinstance(f.callees.get(node), (Method, OneOf)):  # a method that is an argument, as in `map(x.m, xs)`
        return
    known = any(v == owner for v in f.env.values()) or owner.atom in f.held_at_first
    if not known and any(_may_be_assigned_to(f, cls) for cls in _classes(f, owner.type)):
        what = "the object of this method may have been changed after the method was named"
        raise Refused(what, "call the method where it is named: `getattr(x, name)(...)`")


def note_changed(f: Frame, t: Any, name: str) -> None:
    """Note that something is changed in place in what an attribute of objects of type `t` holds."""
    changed = {(cls, name) for cls in _classes(f, t)}
    if not changed <= f.program.changed_fields:
        f.program.changed_fields |= changed
        f.program.changed = True
    note_assigned_to(f, _classes(f, t))


def is_unchanged(f: Frame, t: Any, name: str) -> bool:
    """Whether the program changes nothing in what an attribute of objects of type `t`, made by the model, holds. That something
    else may refer to it is noted."""
    classes = _classes(f, t)
    if not classes or any((c, name) in f.program.changed_fields or c in f.program.datatypes.seen for c in classes):
        return False
    f.program.lending |= {(c, name) for c in classes}
    return True


def _classes(f: Frame, t: Any) -> Sequence[type]:
    inner = f.program.datatypes.optionals.get(getattr(t, "name", ""), t)
    return f.program.datatypes.cases.get(inner.name, ()) if isinstance(inner, DataT) else ()


def has_plain_items(f: Frame, value: Any) -> bool:
    """Whether a value is a list, set or dictionary whose elements cannot be changed in place, or are not known yet: a copy of
    it has nothing in it that it has."""
    t = None if value is None else type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and (contains_unknown(t.item) or not changeable(f, t.item))


def fresh(f: Frame, source: ast.expr, value: Any) -> bool:
    """Whether an expression makes a new list, set, dictionary or object, to which nothing else refers. `value` is its value."""
    match source:
        case ast.Call() if is_object(value):
            new = getattr(value.atom, "name", "") in f.new_lists
            return new or _class_called(f, source) is not None or f.callees.get(source) == Static(dict)  # `dict(record)`
        case ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp() | ast.List() | ast.ListComp() | ast.BinOp():
            return True
        case ast.Subscript(slice=ast.Slice()):
            return not is_array(value) and not is_held_tensor(value)  # the slice of a tensor is a view
        case ast.Compare() | ast.UnaryOp():
            return is_held_tensor(value)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            return name in MAKERS and not calls_own_function(f, source)
        case ast.IfExp() | ast.BoolOp():
            return all(fresh(f, arm, value) for arm in _possible(f, source))
    return False


def _possible(f: Frame, source: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    """The expressions of which a choice may give the value of one, as far as is known: where `xs` is None, `xs or []` gives the
    second one."""
    test = source.test if isinstance(source, ast.IfExp) else source.values[0]
    with f.trial():
        value = f.expression(test)
    is_known = isinstance(value, Static) and (value.value is None or isinstance(value.value, bool))
    match source:
        case ast.IfExp(body=one, orelse=other):
            return [one if value.value else other] if is_known else [one, other]  # type: ignore[union-attr]
        case ast.BoolOp(ast.Or(), [_, other]) if is_known and not value.value:  # type: ignore[union-attr]
            return [other]
    return list(source.values)  # type: ignore[union-attr]


def fresh_inside(f: Frame, source: ast.expr, type: Any = None) -> bool:
    """Whether nothing else refers to any changeable part of the value of an expression. `type` is the value's, if known."""
    if type is not None and not contains_unknown(type) and not changeable(f, type):
        return True
    if type is None and isinstance(source, (ast.ListComp, ast.GeneratorExp, ast.BinOp)):
        with f.trial():
            type = type_inside(f.expression(source))
        if type is None or contains_unknown(type) or not changeable(f, type):
            return True  # nothing in it can be changed; or a later round knows, or the type is an error
    item = type.item if isinstance(type, ListT) else None
    match source:
        case ast.Constant() | ast.Compare() | ast.JoinedStr():
            return True
        case ast.Starred(spread):
            return fresh_inside(f, spread)
        case ast.List(elts) | ast.Set(elts):
            return all(fresh_inside(f, e, item) for e in elts)
        case ast.Tuple(elts):
            return all(fresh_inside(f, e) for e in elts)
        case ast.Dict(values=values):
            return all(fresh_inside(f, e) for e in values)
        case ast.ListComp(elt) | ast.GeneratorExp(elt):
            return item is not None and not contains_unknown(item) and not changeable(f, item) or _fresh_written(f, elt, item)
        case ast.DictComp(value=elt):
            return _fresh_written(f, elt, _value_type(type))
        case ast.BinOp(left, ast.Mult(), right) if isinstance(left, ast.List) or isinstance(right, ast.List):
            return _unchangeable_inside(f, left if isinstance(left, ast.List) else right, item)  # type: ignore[arg-type]
        case ast.IfExp() | ast.BoolOp():
            return all(fresh_inside(f, arm, type) for arm in _possible(f, source))
        case ast.Call(ast.Name("list" | "dict" | "set" | "deque"), []):
            return True
        case ast.Call(ast.Name("deepcopy") | ast.Attribute(attr="deepcopy" | "tolist")) if not calls_own_function(f, source):
            return True
        case ast.Call(ast.Name("defaultdict") | ast.Attribute(attr="defaultdict"), [ast.Name() | ast.Lambda()]):
            return True
        case ast.Call(_, args, keywords) if (cls := _class_called(f, source)) is not None:
            if source in f.made_alone or source in f.made_apart:
                return True
            if _computes_attributes(cls):  # an `__init__` may put one list into two attributes
                return False
            named = all(k.arg is not None and fresh_inside(f, k.value) for k in keywords)
            return named and all(fresh_inside(f, e) for e in args)
    if type is not None:
        return (
            isinstance(type, ListT) and not contains_unknown(type) and not changeable(f, type.item) and fresh(f, source, None)
        )
    with f.trial():
        value = f.expression(source)
        inner = type_inside(value)
        if holds_constant_list(value) or f.as_object(value) is not value:
            return False  # the model refers to it
        if isinstance(source, (ast.Name, ast.Attribute, ast.Subscript)) and is_container(value):
            return False  # a name refers to it, also while it is empty and the type of its elements is not known
        return inner is None or contains_unknown(inner) or fresh_inside(f, source, inner)


def _unchangeable_inside(f: Frame, repeated: ast.List, item: Any) -> bool:
    """Whether the list that `[x] * n` repeats has nothing in it that can be changed; `item` is the type of `x`, if known."""
    plain = item is not None and not contains_unknown(item) and not changeable(f, item)
    return plain or all(isinstance(e, (ast.Constant, ast.UnaryOp)) for e in repeated.elts)


def _fresh_written(f: Frame, elt: ast.expr, type: Any) -> bool:
    """As `fresh_inside`, for an element of a comprehension: its variables have no values here, so only its form counts."""
    if type is not None and not contains_unknown(type) and not changeable(f, type):
        return True
    item = type.item if isinstance(type, ListT) else None
    if isinstance(type, ListT) and not contains_unknown(type) and not changeable(f, item) and fresh(f, elt, None):
        return True
    match elt:
        case ast.Constant():
            return True
        case ast.Tuple(elts) if isinstance(type, TupleT) and len(elts) == len(type.items):
            return all(_fresh_written(f, e, t) for e, t in zip(elts, type.items, strict=True))
        case ast.List(elts) | ast.Tuple(elts):
            return all(_fresh_written(f, e, item) for e in elts)
        case ast.ListComp(inner):
            return _fresh_written(f, inner, item)
        case ast.DictComp(value=inner):
            return _fresh_written(f, inner, _value_type(type))
        case ast.BinOp(left, ast.Mult(), right) if isinstance(left, ast.List) or isinstance(right, ast.List):
            return _unchangeable_inside(f, left if isinstance(left, ast.List) else right, item)  # type: ignore[arg-type]
        case ast.Dict(keys, values):
            return all(_fresh_written(f, e, _entry_type(f, type, key)) for key, e in zip(keys, values, strict=True))
        case ast.Call(ast.Name("list" | "dict" | "set" | "deque"), []):
            return True
        case ast.Call() if _class_called(f, elt) is not None:
            return elt in f.made_alone or elt in f.made_apart
    return False


def _entry_type(f: Frame, type: Any, key: ast.expr | None) -> Any:
    """The type of the entry under a key that is written out, of a dictionary of type `type`; None if that is not known."""
    classes = _classes(f, type) if isinstance(type, DataT) else ()
    if len(classes) == 1 and isinstance(key, ast.Constant) and isinstance(key.value, str):
        return f.program.datatypes.fields.get((classes[0], key.value))
    return _value_type(type)


def _value_type(type: Any) -> Any:
    """The type of the values of a dictionary of type `type`; None if that is not known."""
    entry = type.item if isinstance(type, ListT) else None
    return entry.items[1] if isinstance(entry, TupleT) and len(entry.items) == 2 else None


def _class_called(f: Frame, call: ast.Call) -> type | None:
    """The class that a call calls, so that it makes a new object; None where it calls something else."""
    match call.func:
        case ast.Name(name):
            value = f.env[name] if name in f.env else Static(f.namespace.get(name))
        case ast.Attribute(ast.Name(owner), name):
            value = f.callees.get(call, Static(getattr(f.namespace.get(owner), name, None) if owner not in f.env else None))
        case _:
            return None
    return value.value if isinstance(value, Static) and isinstance(value.value, type) else None


def _computes_attributes(cls: type) -> bool:
    """Whether objects of a class may have other things in their attributes than what the class is called with."""
    if dataclasses.is_dataclass(cls):
        return computes_fields(cls)
    return isinstance(cls.__init__, FunctionType)  # type: ignore[misc]


def calls_own_function(f: Frame, call: ast.Call) -> bool:
    """Whether a call is, or may be, one of a function or method that the source defines."""
    match f.callees.get(call):
        case Static(FunctionType() as function):
            return function.__module__.partition(".")[0] not in ("torch", "copy")
        case Static():
            return False
        case Method(function=function):
            return function is not None
    return True


def seen_through_view(f: Frame, node: ast.expr) -> None:
    """Note that from here on something else may refer to the memory of the tensor of which `node` is a part or a view."""
    name = root_of(node)
    value = None if name is None else f.env.get(name)
    if name is not None and (is_array(value) or isinstance(value, Held) and value.kind == "mask"):
        f.owned.discard(name)


def seen_inside(f: Frame, node: ast.expr, type: Any = None) -> None:
    """Note that from here on something else may refer to a part of what `node` names, of that type if it is known."""
    name = root_of(node)
    if name is not None:
        f.owned.discard(deep(name))
        if not objects_only(f, type):
            f.owned.discard(spine(name))


def is_handed_over(f: Frame, s: ast.AST, source: ast.expr, owned: Claims) -> bool:
    """Whether `source` is a name that alone referred to its value, and to all in it, and that nothing reads after the statement
    `s`: where that puts the value into something else, nothing but this refers to it. `owned` is `Frame.owned` from before the
    statement."""
    if not isinstance(source, ast.Name) or not claims(source.id) <= owned:
        return False
    names = names_in(s)
    return names.count(source.id) == 1 and is_last_use(f.definition, s, source.id)


def objects_only(f: Frame, t: Any) -> bool:
    """Whether values of a type have no list, set or dictionary in them but for those inside of objects."""
    return _objects_only(f, t, set())


def _objects_only(f: Frame, t: Any, asked: set[str]) -> bool:
    match t:
        case TupleT(items):
            return all(_objects_only(f, x, asked) for x in items)
        case DataT(name) if name in asked:  # trees have others of their type in them
            return True
        case DataT(name):
            asked.add(name)
            inner = f.program.datatypes.optionals.get(name)
            inside = list(f.mixed(t).values()) if inner is None else [inner]
            return all(_objects_only(f, x, asked) for x in inside) if inside else name in f.program.datatypes.cases
    return t is not None and not contains_unknown(t) and not changeable(f, t)


def lists_alone(f: Frame, source: ast.expr, value: Value) -> bool:
    """Whether nothing else refers to a list in the value of an expression, or in its parts, outside of objects."""
    t = type_or_none(value)
    return objects_only(f, t) or isinstance(t, ListT) and objects_only(f, t.item) and fresh(f, source, value)
