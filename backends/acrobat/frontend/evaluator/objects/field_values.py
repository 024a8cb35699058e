"""The values that the model gives to fields of objects that it makes, and the types of these fields."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import BOOL, INT, TUPLE, ListT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import optional
from backends.acrobat.frontend.evaluator.choices.returned import kept_apart, number_or_tensor
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import as_list_of_tensors, like
from backends.acrobat.frontend.evaluator.lists.mapping import as_result
from backends.acrobat.frontend.evaluator.objects.constant_fields import kept_constant
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_list, nothing_known, type_of
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.types import NONE, SYMBOL, UNKNOWN, Mismatch, contains_unknown, has_role, is_tuple_type
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, guess, held_in, unknown


def field_value(f: Frame, node: ast.AST, cls: type, name: str, value: Value) -> Value:
    """The value that a field of an object of `cls` gets, as one of the field's type, which is widened to cover it. An unknown
    value as long as that type is not known; a problem is noted where no type covers all values of the field."""
    datatypes = f.program.datatypes
    if nothing_known(value):
        return unknown()
    target = datatypes.field_type(cls, name)
    if (cls, name) in datatypes.given_out:
        value = as_result(f, as_list_of_tensors(f, value))
    try:
        value = kept_constant(f, cls, name, value) or like(f, value, target)
        said = cls not in datatypes.made and (cls, name) not in datatypes.refined and not contains_unknown(target)
        if node in f.flow.parts and not said:
            value = kept_apart(f, value, (cls, name))
        have = type_of(value)
        if cls not in datatypes.seen and (annotated := f.as_annotated(target, have)) != target:
            target = datatypes.widen(cls, name, annotated)
        numbered = datatypes.is_referenced(datatypes.of_class.get(cls, ""))
        open = cls in datatypes.made or numbered or contains_unknown(target) or datatypes.exact
        if (cls, name) in datatypes.refined:  # by the model's values: beside None it may have others
            open |= NONE in (target, have) or optional(f, guess(target)) is not None
            open |= issubclass(cls, RecordOf) and f.without_none(have) != have
            open |= len(extents(target) or ()) == len(extents(have) or ()) > 0  # tensors of several shapes
            open |= target in f.mixed(have).values()  # what an earlier round knew of a recursion that gives a tree
            open |= datatypes.has_mixtures or is_tuple_type(target) and is_tuple_type(have)
        always_empty = contains_unknown(target) and not contains_unknown(have) and cls in datatypes.copied
        if (cls not in datatypes.seen or always_empty) and open and target != have:
            both = [target, have] if target != UNKNOWN else [have]
            if NONE in both and any(map(contains_unknown, both)):  # beside None once it is known
                both = [t for t in both if t != NONE]
            target = datatypes.widen(cls, name, NONE if both == [NONE] else _covering(f, both))
        if contains_unknown(target):
            return unknown()
        return held_in(Dyn(f.atom(f.coerce(_of_fixed_length(f, value, target), target))))
    except Mismatch as error:
        if _tells_apart(f, cls, name, value):
            return unknown()
        rule = "a field has one type, and one shape, everywhere"
        if cls not in datatypes.seen:
            rule = (
                "a field has one type everywhere, and its tensors differ in one extent only: give others a field of their own"
            )
        f.problem(node, f"the field `{name}` of {cls.__name__}: {error}", rule)
        return unknown()


def _of_fixed_length(f: Frame, value: Value, target: Any) -> Value:
    """A tuple whose length is known at run time only, where the field has tuples of one length: another length is an error of
    the instance. Other values unchanged."""
    t = type_of(value)
    if not (isinstance(target, TupleT) and not target.listed and isinstance(t, ListT) and t.rows is None and t.kind == TUPLE):
        return value
    return TupleV(tuple(f.components(value, len(target.items)) or ()))


def _tells_apart(f: Frame, cls: type, name: str, value: Value) -> bool:
    """Whether the next attempt splits this record class by whether `name` holds a list: some dictionaries with its keys have a
    list there, and others have something else."""
    datatypes = f.program.datatypes
    if not issubclass(cls, RecordOf) or cls.class_of_record is not None or datatypes.records.plain(cls) in datatypes.seen:
        return False
    others = f.without_none(datatypes.field_type(cls, name))
    return others != UNKNOWN and is_list(value) != is_list(guess(others)) and datatypes.records.tell(cls, name)


def note_late(f: Frame, cls: type, name: str, value: Value) -> None:
    """Note whether None is assigned to an attribute that objects do not have when they are made."""
    datatypes = f.program.datatypes
    is_none = isinstance(value, Static) and value.value is None
    may_be_none = is_none or optional(f, value) is not None
    if name in datatypes.late.get(cls, ()) and may_be_none and (cls, name) not in datatypes.late_nones:
        datatypes.late_nones.add((cls, name))
        datatypes.changed = True


def _covering(f: Frame, types: Sequence[Any]) -> Any:
    """The type of a field that has values of these types: of a string and an int, the union of both. Raises Mismatch."""
    if any(has_role(t, "Result") for t in types) and (either := number_or_tensor(f, types)):
        return either
    try:
        return f.common(types, numbers=True)
    except Mismatch:
        plain = [f.without_none(t) for t in types if t != NONE]
        number = next((t for t in plain if t in (INT, BOOL)), None)  # a float would have an int beside it become one
        if number is None or any(t not in (number, SYMBOL) for t in plain):
            raise
        covering = f.program.datatypes.number_or_string(number)
        return covering if plain == list(types) else f.program.datatypes.optional(covering)
