"""Indexing and slicing of lists, tuples and objects with names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from backends.acrobat.core.types import INT, LIST, DataT, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import are_functions, at_index, fail, mapped_choice, optional
from backends.acrobat.frontend.evaluator.choices.each_type import for_each_type, for_types_that_take, is_one_of_several
from backends.acrobat.frontend.evaluator.choices.mixed import COMPUTED, ITERABLE, SEQUENCES, mixed
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.conditions.narrowed_choices import of_narrowed
from backends.acrobat.frontend.evaluator.conditions.narrowing import told_constants
from backends.acrobat.frontend.evaluator.containers.containers import staged_constant
from backends.acrobat.frontend.evaluator.containers.records import as_dict
from backends.acrobat.frontend.evaluator.expressions.dict_items import of_shared_dict
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode, dict_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors
from backends.acrobat.frontend.evaluator.lists.lists import bound, list_of, sliced
from backends.acrobat.frontend.evaluator.lists.module_parts import some_of
from backends.acrobat.frontend.evaluator.objects import constants
from backends.acrobat.frontend.evaluator.objects.classes import records_of, special_method
from backends.acrobat.frontend.evaluator.objects.constants import may_equal
from backends.acrobat.frontend.evaluator.objects.fields import field
from backends.acrobat.frontend.evaluator.scalars.formatting import as_one
from backends.acrobat.frontend.evaluator.scalars.strings import letters
from backends.acrobat.frontend.evaluator.tables import CALLS, INDICES, MEMBERSHIP, SUBSCRIPTS, handles
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import (
    as_kind,
    as_tuple,
    is_list,
    is_unknown,
    kind,
    known,
    nothing_known,
    plain_container,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import AttributesByName, FunctionTable, Keywords, OneOf, SliceOf
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.types import is_shared
from backends.acrobat.frontend.values import END, Dyn, ListedV, Placeholder, Special, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n


def subscript(f: Frame, node: ast.AST, value: Value, index: ast.expr) -> Value:
    """`value[index]`."""
    index = _written_out(f, index)
    named = isinstance(index, ast.Constant) and isinstance(index.value, str)
    if is_one_of_several(f, value) and not any(isinstance(x, ast.Call) for x in every_node(index)):
        return for_each_type(f, node, [value], lambda one: subscript(f, node, one[0], index))
    if not named and _has_several_with_items(f, value) and not any(isinstance(x, ast.Call) for x in every_node(index)):
        assert isinstance(value, Dyn)
        return for_types_that_take(f, node, value, lambda one: subscript(f, node, one, index))
    if isinstance(index, ast.Slice) and {*SEQUENCES} <= f.mixed(f.without_none(type_or_none(value))).keys():
        if any(isinstance(x, ast.Call) for x in every_node(index)):
            raise Refused("a slice of a list or a tuple has bounds that are computed by calls", "give them names first")
        either = opened(f, node, value)  # a slice of a list is a list, and one of a tuple a tuple
        assert isinstance(either, Dyn)
        return for_types_that_take(f, node, either, lambda one: subscript(f, node, one, index))
    if is_shared(type_or_none(value)) and (entered := of_shared_dict(f, node, value, index)) is not None:  # type: ignore[arg-type]
        return entered
    value = opened(f, node, value, types=("object", "dict") if named else ITERABLE)
    if isinstance(value, (Static, Special)) and isinstance(index, (ast.Name, ast.Call, ast.Attribute, ast.JoinedStr)):
        chosen = f.borrowed(index)  # a class, or a name made of one, that is chosen at run time
        if isinstance(chosen, OneOf):
            keys = [ast.copy_location(CompiledNode(each), index) for each in chosen.alternatives]
            by_class = dict(zip(chosen.alternatives, keys, strict=True))
            return mapped_choice(f, node, chosen, lambda each: subscript(f, node, value, by_class[each]))
        if isinstance(index, ast.Call):  # it may change something, and is computed once
            index = ast.copy_location(CompiledNode(chosen), index)
    if isinstance(index, (ast.Name, ast.Attribute)):
        chosen = f.borrowed(index)
        if is_one_of_several(f, chosen):
            at = index
            return for_each_type(
                f, node, [chosen], lambda one: subscript(f, node, value, ast.copy_location(CompiledNode(one[0]), at))
            )
        none_is_a_key = isinstance(value, Static) and isinstance(value.value, dict) and None in value.value
        if isinstance(chosen, Dyn) and optional(f, chosen) is not None and not none_is_a_key:
            index = ast.copy_location(CompiledNode(opened(f, index, chosen)), index)
    if isinstance(index, (ast.Name, ast.Attribute)) and (told := told_constants(f, index)) and _has_keys(f, node, value, told):
        name = index
        return of_narrowed(
            f, node, name, told, lambda k: subscript(f, node, value, ast.copy_location(CompiledNode(Static(k)), name))
        )
    handler = SUBSCRIPTS.get(kind(value))
    if isinstance(index, ast.Constant) and isinstance(index.value, str) and kind(value) not in NAMED:
        return unknown() if nothing_known(value) else f.problem(node, "this cannot be indexed with a string")
    if handler is not None and (not nothing_known(value) or kind(value) == "tuple"):
        return handler(f, node, value, index)
    if nothing_known(value) or isinstance(value, Dyn) and type(value.atom) is Placeholder:  # a tensor in a later round
        return unknown()
    return f.problem(node, "this cannot be indexed")


def _has_keys(f: Frame, node: ast.AST, value: Value, keys: Sequence[Any]) -> bool:
    """Whether a dictionary that is known at compile time, of modules or functions say, has all these keys."""
    if isinstance(value, Static):
        return isinstance(value.value, dict) and all(k in value.value for k in keys)
    if not isinstance(value, Special) or kind(value) not in MEMBERSHIP:
        return False
    return all(MEMBERSHIP[kind(value)](f, node, value, Static(k)) == Static(True) for k in keys)


def _has_several_with_items(f: Frame, value: Value) -> bool:
    """Whether a value is of one of several types that have items of different types: a tensor or a tuple, say, in a field whose
    type another field of the object tells."""
    types = mixed(f, value)
    words = [word for word in types if word in ITERABLE]
    if "str" in types and words and {*words} <= {*SEQUENCES}:  # a letter is of the type that the elements are of
        return all(isinstance(t := types[w], ListT) and "str" in f.mixed(f.without_none(t.item)) for w in words)
    return len(words) > 1 and not {*words} <= {*SEQUENCES}


def _written_out(f: Frame, index: ast.expr) -> ast.expr:
    """An index with the bounds of a `slice`, or of one that a name stands for."""
    if isinstance(index, ast.Tuple):
        return ast.copy_location(ast.Tuple([_written_out(f, e) for e in index.elts], ast.Load()), index)
    value = f.env.get(index.id) if isinstance(index, ast.Name) else None
    if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "slice" and f.is_builtin("slice"):
        value = f.borrowed(index)
    if not isinstance(value, SliceOf):
        return index
    bounds = [None if v == Static(None) else CompiledNode(v) for v in (value.start, value.stop, value.step)]
    return ast.copy_location(ast.Slice(*(b and ast.copy_location(b, index) for b in bounds)), index)


NAMED: set[Any] = {Keywords, AttributesByName, FunctionTable, OneOf, Static, "dict", "nested dict", "object"}
"""The kinds of values that have entries under names."""


@handles(SUBSCRIPTS, TupleV, "tuple")
def _of_tuple(f: Frame, node: ast.AST, value: Value, index: ast.expr) -> Value:
    items = f.components(value)
    assert items is not None
    if isinstance(index, ast.Slice):
        bounds = [f.expression(e) if e else None for e in (index.lower, index.upper, index.step)]
        if items and not all(b is None or known(b)[0] for b in bounds):
            return _part_of_tuple(f, node, value, items, bounds)
        start, stop, step = (None if b is None else constant(b, "a bound") for b in bounds)
        part = tuple(items[slice(start, stop, step)])
        return replace(value, items=part) if isinstance(value, TupleV) else TupleV(part)
    chosen = f.expression(index)
    if isinstance(chosen, Dyn) and not isinstance(chosen.atom, n.Lit) and len(items) > 0:
        if 1 < len(items) <= constants.LARGEST and _differ_in_keys(items):
            return at_index(f, items, as_index(f, chosen))
        whole = list_of(f, node, [_as_entry(f, node, v) for v in items])
        if is_unknown(chosen) or is_unknown(whole):
            return unknown()
        if isinstance(whole, TupleV) and are_functions(whole.items):
            return at_index(f, whole.items, as_index(f, chosen))
        whole = as_list_of_tensors(f, whole)
        if not is_list(whole):
            return f.problem(node, f"one of these is chosen at run time, and they differ in type: {f.places(items)}")
        return element_at(f, node, whole, chosen)  # type: ignore[arg-type]
    i = constant(chosen, "the index of a tuple")
    if not isinstance(i, int) or not -len(items) <= i < len(items):
        return f.problem(node, f"index {i} is out of range for a tuple of {len(items)}")
    return items[i]


def _part_of_tuple(f: Frame, node: ast.AST, value: Value, items: Sequence[Value], bounds: Sequence[Value | None]) -> Value:
    """The slice of a tuple whose `bounds` are known at run time only: its length then is, too."""
    whole = list_of(f, node, [_as_entry(f, node, v) for v in items])
    if is_unknown(whole) or any(b is not None and is_unknown(b) for b in bounds):
        return unknown()
    if not is_list(whole) and all(isinstance(v, Special) and v.unrolled for v in items):
        return some_of(f, tuple(items), bounds)
    if not is_list(whole):
        return f.problem(node, f"a part of this is taken at run time, and its elements differ in type: {f.places(items)}")
    part = _of_list(f, node, whole, ast.Slice(*(None if b is None else CompiledNode(b) for b in bounds)))  # type: ignore[arg-type]
    return part if isinstance(value, ListedV) else as_tuple(part)


def _differ_in_keys(items: Sequence[Value]) -> bool:
    """Whether all values are constant dictionaries, which have several sets of keys."""
    dictionaries = [known(v)[1] for v in items]
    return all(type(d) is dict for d in dictionaries) and len({frozenset(d) for d in dictionaries}) > 1


def _as_entry(f: Frame, node: ast.AST, value: Value) -> Value:
    """One of several values of which one is chosen at run time, as a value of the program: also a constant dictionary."""
    constants = known(value)[1]
    if type(constants) is not dict:
        return f.staged(value)
    made = dict_of(f, node, {k: _as_entry(f, node, f.program.wrap(v)) for k, v in constants.items()})
    if records_of(f, made) and f.program.datatypes.is_referenced(made.type.name):  # type: ignore[union-attr]
        what = "a dictionary of the source stands here, and such a one changes an object that may be seen under another name"
        raise Refused(what, "make a dictionary of its own in the model: `dict(d)`")
    return made


@handles(SUBSCRIPTS, OneOf)
def _of_one(f: Frame, node: ast.AST, value: OneOf, index: ast.expr) -> Value:
    """`self.layers[i][j]`: an item of one of several lists of modules."""
    key = f.expression(index)
    at = ast.copy_location(CompiledNode(key), index)
    is_known, name = known(key)

    def item(each: Value) -> Value:
        entries = known(each)[1]
        if not isinstance(entries, dict) or is_unknown(key):
            return subscript(f, node, each, at)
        if not any(k == name if is_known else may_equal(key, k) for k in entries):  # of this one, not of the others
            return fail(f, f"KeyError: {name!r}" if is_known else "KeyError")
        return subscript(f, node, each, at)

    return mapped_choice(f, node, value, item)


@handles(SUBSCRIPTS, Static)
def _of_constant(f: Frame, node: ast.AST, value: Static, index: ast.expr) -> Value:
    match value.value, index:
        case dict() as entries, ast.Constant(str() as key) if constants.maker_of_missing(entries) is None:
            if key not in entries:
                return f.problem(node, f"this dict has no key {key!r}")
            return f.program.wrap(entries[key])
        case x, ast.Constant(str()) if not isinstance(x, dict) and constants.method_of(x, "__getitem__") is None:
            return f.problem(node, "this cannot be indexed with a string")
        case dict() as entries, _ if not isinstance(index, ast.Slice):
            return constants.entry(f, node, entries, f.borrowed(index), partial(staged_constant, f, node))
        case tuple(), _:
            return _of_tuple(f, node, value, index)
        case list() as items, _:
            part = _of_tuple(f, node, Static(tuple(items)), index)
            return as_kind(part, LIST) if isinstance(index, ast.Slice) and kind(part) == "varying tuple" else part  # type: ignore[arg-type]
        case str() as text, _:
            if isinstance(index, ast.Slice):
                bounds = [constant(f.expression(e), "a bound") if e else None for e in (index.lower, index.upper, index.step)]
                return Static(text[slice(*bounds)])
            at = f.expression(index)
            if known(at)[0]:
                return Static(text[constant(at, "the index")])
            return element_at(f, node, list_of(f, node, list(map(Static, text))), at)  # type: ignore[arg-type]
    if (method := constants.method_of(value.value, "__getitem__")) is not None and not isinstance(index, ast.Slice):
        return f.program.call(f, node, method, [value, f.expression(index)], {})
    return f.problem(node, "this cannot be indexed")


@handles(SUBSCRIPTS, "string")
def _of_string(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    part = _of_list(f, node, letters(f, value), index)
    return as_one(f, part) if isinstance(index, ast.Slice) and not is_unknown(part) else part


@handles(SUBSCRIPTS, "object")
def _of_object(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    assert isinstance(value.type, DataT)
    classes = f.program.datatypes.cases.get(value.type.name, ())
    has_method = any(isinstance(getattr(cls, "__getitem__", None), FunctionType) for cls in classes)
    if isinstance(index, ast.Constant) and isinstance(index.value, str) and not has_method:
        return field(f, node, value, index.value)
    if len(classes) == 1 and issubclass(classes[0], RecordOf) and not isinstance(index, ast.Slice):
        key = f.expression(index)
        if known(key)[0]:
            return field(f, node, value, str(known(key)[1]))
        if is_unknown(key):
            return unknown()
        keys = f.program.datatypes.record_fields(classes[0])
        return constants.constant_by_key(f, node, list(keys), key, lambda k: field(f, node, value, k))
    if len(records := records_of(f, value)) > 1 and not isinstance(index, ast.Slice):
        key = f.expression(index)
        if is_unknown(key):
            return unknown()
        return field(f, node, value, str(known(key)[1])) if known(key)[0] else as_dict(f, *records)
    method = special_method(f, node, value, "__getitem__", "{} object is not subscriptable")
    if method is not None and not isinstance(index, ast.Slice):
        return CALLS[kind(method)](f, node, method, [f.expression(index)], {}, "")
    if (components := f.components(value)) is not None:  # a named tuple
        return _of_tuple(f, node, TupleV(tuple(components)), index)
    return f.problem(node, "this cannot be indexed")


@handles(SUBSCRIPTS, "list")
def _of_list(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    value = plain_container(value)  # type: ignore[assignment]
    assert isinstance(value.type, ListT)
    if isinstance(index, ast.Slice):
        step = constant(f.expression(index.step), "the step") if index.step else 1
        if step == -1 and index.lower is None and index.upper is None:
            return f.host("list.reverse", [value], value.type, "reversed")
        if step != 1:
            first, last = (f.expression(e) if e else Static(None) for e in (index.lower, index.upper))
            return sliced(f, node, value, first, last, Static(step))
        start = bound(f, index, f.expression(index.lower) if index.lower else None, 0)
        stop = bound(f, index, f.expression(index.upper) if index.upper else None, END)
        return f.host("list.slice", [value, start, stop], value.type)
    return element_at(f, index, value, f.expression(index))


@handles(SUBSCRIPTS, "varying tuple")
def _of_varying_tuple(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    result = _of_list(f, node, as_kind(value, LIST), index)
    return as_tuple(result) if isinstance(index, ast.Slice) else result


def element_at(f: Frame, index: ast.AST, value: Dyn, i: Value) -> Value:
    """`value[i]` of a list."""
    assert isinstance(value.type, ListT)
    i = as_index(f, i)
    if not is_unknown(i) and type_of(i) != INT:
        return f.problem(index, f"the index of a list is an int, not {describe(type_of(i))}")
    return f.host("list.get", [value, i], value.type.item, "element")


def as_index(f: Frame, i: Value) -> Value:
    """The int that a value is when it is used as an index; a value without a rule for that is given as it is."""
    i = opened(f, ast.Pass(), i, "an index needs a value", COMPUTED)
    handler = INDICES.get(kind(i))
    return i if handler is None else handler(f, i)
