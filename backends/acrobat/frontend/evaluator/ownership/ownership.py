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
import inspect
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, spine
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.origins import attributes_with, origins
from backends.acrobat.frontend.evaluator.syntax.reading import is_last_use
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_array, type_or_none
from backends.acrobat.frontend.source import source_of
from backends.acrobat.frontend.specials import Method, OneOf
from backends.acrobat.frontend.syntax_nodes import every_node, names_in
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Held, Static, Value

LOOKING = frozenset(
    {"len", "int", "float", "bool", "str", "range", "sum", "abs", "any", "all", "isinstance", "id", "print", "round"}
)
"""Functions of Python's whose results have no part of their arguments in them."""


def changeable(f: Frame, t: Any) -> bool:
    """Whether a value of a type, or a part of it, could be changed in place: lists and objects. An optional type counts as what
    it holds. An object to whose attributes the program never assigns counts only if its parts could be changed."""
    return _changeable(f, t, set())


def _changeable(f: Frame, t: Any, asked: set[str]) -> bool:
    match t:
        case ListT(item, container="tuple"):
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
    """Note that a list, set or dictionary of a type `t` is changed while other names may refer to it. The next attempt may have
    such lists as shared ones (`shared_lists`): those that `written` may be, if the source tells which these are."""
    if not isinstance(t, ListT) or t.rows is not None or t.container in ("tuple", "iterator"):
        return
    known = written is not None and f.definition is not None
    places = origins(f.definition, written, lambda call: _fields_of(f, call)) if known else ()  # type: ignore[arg-type]
    sites = {(f.file, *place) for place in places}
    lists = f.program.datatypes.met.lists
    if isinstance(written, ast.Attribute):
        sites |= lists.in_attributes.get(written.attr, set())
    for name in attributes_with(f.definition, written) if known else ():  # type: ignore[arg-type]
        sites |= lists.displayed_in(name)
    lists.changed_elsewhere.append((t, frozenset(sites)))


def class_called(f: Frame, call: ast.Call) -> type | None:
    """The class that a call calls, so that it makes a new object; None where it calls something else."""
    match call.func:
        case ast.Name(name):
            value = f.env[name] if name in f.env else Static(f.namespace.get(name))
        case CompiledNode(value=given):
            value = given
        case ast.Attribute(ast.Name(owner), name):
            value = f.callees.get(call, Static(getattr(f.namespace.get(owner), name, None) if owner not in f.env else None))
        case _:
            return None
    return value.value if isinstance(value, Static) and isinstance(value.value, type) else None


def _fields_of(f: Frame, call: ast.Call) -> Sequence[str] | None:
    """The attributes that the arguments of a call become if it makes an object, "" for arguments that do not become one
    unchanged; None for other calls."""
    cls = class_called(f, call)
    if cls is None:
        return None
    init = cls.__init__  # type: ignore[misc]
    with suppress(TypeError, ValueError, CompileError):  # of a class that has no signature
        names = list(inspect.signature(cls).parameters)
        if dataclasses.is_dataclass(cls) or not isinstance(init, FunctionType):
            return names
        kept = {
            x.value.id
            for x in every_node(source_of(init)[0])
            if isinstance(x, ast.Assign) and isinstance(x.value, ast.Name) and isinstance(x.targets[0], ast.Attribute)
            if x.targets[0].attr == x.value.id
        }
        return [name if name in kept else "" for name in names]
    return None


def refuse_earlier_owner(f: Frame, node: ast.AST, owner: Dyn) -> None:
    """Raises Refused if a method is called that was read earlier, `m = getattr(x, name)`, and the object may have been changed
    since: the program has the object as it was when the method was read."""
    if not isinstance(node, ast.Call) or isinstance(node.func, (ast.Attribute, ast.Call)):
        return
    if not isinstance(f.callees.get(node), (Method, OneOf)):  # a method that is an argument, as in `map(x.m, xs)`
        return
    known = any(v == owner for v in f.env.values()) or owner.atom in f.held_at_first
    changed = isinstance(owner.type, ListT) or any(_may_be_assigned_to(f, cls) for cls in classes_of_type(f, owner.type))
    if not known and changed:
        what = "the object of this method may have been changed after the method was named"
        raise Refused(what, "call the method where it is named: `getattr(x, name)(...)`")


def note_changed(f: Frame, t: Any, name: str) -> None:
    """Note that the program changes something in place in what an attribute of objects of type `t` holds."""
    changed = {(cls, name) for cls in classes_of_type(f, t)}
    if not changed <= f.program.changed_fields:
        f.program.changed_fields |= changed
        f.program.changed = True
    note_assigned_to(f, classes_of_type(f, t))


def is_unchanged(f: Frame, t: Any, name: str) -> bool:
    """Whether the program never changes what an attribute of objects of type `t`, made by the model, holds. Notes that
    something else may refer to it."""
    classes = classes_of_type(f, t)
    if not classes or any((c, name) in f.program.changed_fields or c in f.program.datatypes.seen for c in classes):
        return False
    f.program.lending |= {(c, name) for c in classes}
    return True


def classes_of_type(f: Frame, t: Any) -> Sequence[type]:
    inner = f.program.datatypes.optionals.get(getattr(t, "name", ""), t)
    return f.program.datatypes.cases.get(inner.name, ()) if isinstance(inner, DataT) else ()


def has_plain_items(f: Frame, value: Any) -> bool:
    """Whether a value is a list, set or dictionary whose elements cannot be changed in place, or are not known yet: a copy of
    it shares nothing changeable with it."""
    t = None if value is None else type_or_none(value)
    return isinstance(t, ListT) and t.rows is None and (contains_unknown(t.item) or not changeable(f, t.item))


def elements_of(f: Frame, node: ast.expr) -> Value:
    """As `Frame.expression`, for a list, set or dictionary of which only the elements are kept somewhere: a name that owned it
    still does, unless the elements may be changed."""
    if not isinstance(node, ast.Name):
        return f.expression(node)
    owned = claims(node.id) & f.owned
    value = f.borrowed(node)
    if not has_plain_items(f, value):
        f.owned -= owned
    return value


def seen_through_view(f: Frame, node: ast.expr) -> None:
    """Note that from here on something else may refer to the memory of the tensor of which `node` is a part or a view."""
    name = root_of(node)
    value = None if name is None else f.env.get(name)
    if name is not None and (is_array(value) or isinstance(value, Held) and value.kind in ("mask", "ones")):
        f.owned.discard(name)


def seen_inside(f: Frame, node: ast.expr, type: Any = None) -> None:
    """Note that from here on something else may refer to a part of what `node` names, of that type if it is known."""
    name = root_of(node)
    if name is not None:
        f.owned.discard(deep(name))
        if not objects_only(f, type):
            f.owned.discard(spine(name))


def is_handed_over(f: Frame, s: ast.AST, source: ast.expr, owned: Claims) -> bool:
    """Whether `source` is a name that alone refers to its value and all in it, and that nothing reads after the statement `s`.
    If the statement puts the value into something else, only that refers to it then. `owned` is `Frame.owned` from before the
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
