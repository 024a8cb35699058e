"""Fields that the model writes on objects of the instance: `tree.state = h`, read later as `child.state`.

The program is pure, and objects of the instance stay as they are. For each such field the program has a dictionary, from the
number of an object (its identity) to the value that was written. It is empty when an instance begins. A function that reads the
field, or calls one that does, has the dictionary as a further parameter; one that writes it has the new dictionary as a further
result (`functions`). A field that was not written holds what the instance's object has.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from backends.acrobat.core.types import BOOL, DICT, INT, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.containers.containers import items_of, put
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.fields import field_at_first, identity
from backends.acrobat.frontend.evaluator.syntax.hidden_names import carried_name
from backends.acrobat.frontend.evaluator.tables import FIELDS_READ, FIELDS_WRITTEN
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.instances.shared import NO_ELEMENTS
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_of
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import NONE, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value, empty, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import dictionaries


def _name(union: str, field: str) -> str:
    """The name, in functions' scopes, of the dictionary of what the model writes to a field of a union's objects."""
    return carried_name("field", field, union, f"{field}_of_{union}")


def write_field(f: Frame, node: ast.AST, owner: Value, field: str, value: Value) -> bool:
    """Compile `owner.field = value` of an object of the instance. False for objects of other kinds, which have other rules."""
    if not isinstance(owner, Dyn) or not isinstance(owner.type, DataT):
        return False
    whole = opened(f, node, owner, types=("object",))
    datatypes = f.program.datatypes
    union = whole.type.name if isinstance(whole, Dyn) and isinstance(whole.type, DataT) else ""
    classes = datatypes.cases.get(union, ())
    if not classes or not all(_takes_fields(f, c, field) for c in classes):
        return False
    name = _name(union, field)
    f.program.carried.writes_field(name, union, field, classes)
    f.note_field((name, field), True)
    before = f.env.get(name)
    if before is None or nothing_known(value):  # a later round knows more
        f.program.incomplete = True
        return True
    if type_of(value) is NONE:
        f.program.carried.written_none.add(name)
    if name in f.program.carried.only_none:
        if type_of(value) is not NONE:
            f.problem(node, f"the type of the field `{field}` cannot be found", "give it a value whose type is seen first")
            return True
        value = Static(False)  # which stands for it
    try:
        f.program.carried.types[name] = f.common([f.program.carried.types[name], type_of(value)])
        after = put(f, node, before, identity(f, node, whole), value)
    except Mismatch as error:
        f.problem(node, f"the field `{field}`: {error}", "a field has one type, and one shape, everywhere")
        return True
    f.keep(name, after)
    return True


def _takes_fields(f: Frame, cls: type, field: str) -> bool:
    """Whether the model may give objects of a class other values in a field: ordinary objects of the sample."""
    if cls not in f.program.datatypes.seen or issubclass(cls, (RecordOf, tuple)):
        return False
    frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return not frozen and not isinstance(inspect.getattr_static(cls, field, None), property)


def attribute_or(f: Frame, node: ast.AST, owner: Dyn, field: str, default: Value) -> Value:
    """`getattr(owner, field, default)` of a field that the model writes."""
    whole = opened(f, node, owner, types=("object",))
    assert isinstance(whole, Dyn)
    assert isinstance(whole.type, DataT)
    result = read_field(f, node, whole, field, default)
    return attribute(f, node, whole, field) if result is None else result


def read_field(f: Frame, node: ast.AST, owner: Dyn, field: str, default: Value | None = None) -> Value | None:
    """The value of `owner.field` where the model writes that field; None for other fields. `default`: what it is where it was
    not written, and the instance's objects do not have it."""
    assert isinstance(owner.type, DataT)
    name = _name(owner.type.name, field)
    if name not in f.program.carried.types:
        return None
    f.program.carried.touches(name, False)
    f.note_field((name, field), False)
    whole = f.env.get(name)
    if whole is None or is_unknown(whole):
        f.program.incomplete = True
        t = f.program.carried.types[name]
        is_empty_list = getattr(t, "item", None) in NO_ELEMENTS  # which is known to be a list, though of nothing yet
        return guess(t) if is_empty_list else unknown()
    pairs = items_of(whole)
    at = f.program.call(f, node, dictionaries.place_of, [pairs, identity(f, node, owner)], {})
    if is_unknown(at):
        return unknown()
    there = f.host("lt", [at, f.host("list.len", [pairs], INT, "size")], BOOL, "there")
    assert isinstance(pairs.type, ListT)
    entry = pairs.type.item

    def written_value() -> Value:
        if name in f.program.carried.only_none:
            return Static(None)
        return (f.components(f.host("list.get", [pairs, at], entry, "entry")) or [unknown(), unknown()])[1]

    return choose(f, ast.Pass(), there, written_value, lambda: _at_first(f, owner, field, default))


def _at_first(f: Frame, owner: Dyn, field: str, default: Value | None) -> Value:
    """The value of a field to which nothing was written: that of the instance's object. If it is None in the whole sample, and
    the function does not ask for that, it is an error of the instance."""
    assert isinstance(owner.type, DataT)
    datatypes = f.program.datatypes
    classes = datatypes.cases[owner.type.name]
    places = [datatypes.seen[c][field].representative() for c in classes if field in datatypes.seen[c]]
    if any(p.kinds - {"none"} for p in places):
        return field_at_first(f, owner, [c for c in classes if datatypes.has_field(c, field)], field)
    if not places and default is not None:
        return default
    if not places:
        return fail(f, f"AttributeError: `{field}` is read before it was assigned")
    asks = default is not None or asks_none(f.definition, field)
    return Static(None) if asks else fail(f, f"TypeError: `{field}` is None here: it is read before it was assigned")


def asks_none(definition: ast.FunctionDef | None, field: str) -> bool:
    """Whether a function compares the field with None, or assigns it to a variable that it compares with None."""
    if definition is None:
        return True
    names = {
        t.id
        for s in every_node(definition)
        if isinstance(s, ast.Assign) and _reads(s.value, field)
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    for x in every_node(definition):
        match x:
            case ast.Compare(left, [ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()], [right]):
                tests = [left, right]
            case ast.If(test) | ast.IfExp(test) | ast.While(test) | ast.Assert(test) | ast.UnaryOp(ast.Not(), test):
                tests = [test]
            case ast.BoolOp(values=tests):
                pass
            case _:
                continue
        for test in tests:
            if _reads(test, field) or isinstance(test, ast.Name) and test.id in names:
                return True
    return False


def _reads(node: ast.expr, field: str) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name == field
        case ast.Call(ast.Name("getattr"), [_, ast.Constant(name), *_]):
            return bool(name == field)
    return False


def empty_dictionary(f: Frame, item: Any) -> Value:
    """The dictionary of a field at the beginning of an instance. `item` is the type of the field, as far as it is known."""
    return empty_list_of(f, ListT(TupleT((INT, item)), kind=DICT))


def empty_list_of(f: Frame, type: Any) -> Value:
    """An empty list or dictionary of a type, as far as that is known."""
    return empty(type, f.span) if contains_unknown(type) else f.bind(n.ListOf((), type, span=f.span), "kept")


FIELDS_READ.append(read_field)
FIELDS_WRITTEN.append(write_field)
