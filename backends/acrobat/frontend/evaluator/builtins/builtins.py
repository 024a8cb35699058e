"""Python's own functions, by name."""

from __future__ import annotations

import ast
import builtins as python_builtins
import collections
import operator
from collections.abc import Callable
from enum import EnumType
from functools import cache, partial
from typing import Any

from backends.acrobat import library
from backends.acrobat.core.types import DataT
from backends.acrobat.frontend.evaluator.builtins.ordering import extreme_or, ordered
from backends.acrobat.frontend.evaluator.callables.named import has_named, is_name_of_run_time, named
from backends.acrobat.frontend.evaluator.changes.written_fields import attribute_or
from backends.acrobat.frontend.evaluator.choices.choice import among, mapped_choice
from backends.acrobat.frontend.evaluator.choices.known_classes import (
    asks_for_tuples,
    is_instance,
    is_instance_as_annotated,
    several,
)
from backends.acrobat.frontend.evaluator.conditions.narrowed_choices import of_narrowed
from backends.acrobat.frontend.evaluator.conditions.narrowing import of_class, told_constants
from backends.acrobat.frontend.evaluator.containers.containers import in_any_order
from backends.acrobat.frontend.evaluator.containers.shared_lists import without_sharing
from backends.acrobat.frontend.evaluator.containers.walked_sets import note_made
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, constant
from backends.acrobat.frontend.evaluator.frame.derived_values import derived_class
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.objects.attributes import attribute
from backends.acrobat.frontend.evaluator.objects.classes import class_of, record_of
from backends.acrobat.frontend.evaluator.objects.constants import contains
from backends.acrobat.frontend.evaluator.objects.instantiation import instantiate
from backends.acrobat.frontend.evaluator.objects.referenced import shared_inside
from backends.acrobat.frontend.evaluator.tables import BUILTINS, FUNCTIONS, LIBRARY_RULES, handles
from backends.acrobat.frontend.instances.record_classes import RecordOf
from backends.acrobat.frontend.kinds import is_number, is_string, kind, known, nothing_known, type_or_none, untupled
from backends.acrobat.frontend.refusals import refusal
from backends.acrobat.frontend.specials import OneOf, SliceOf
from backends.acrobat.frontend.values import Dyn, Special, Static, Value, unknown
from backends.acrobat.library import queues

NAMES_WITHOUT_ORDER = ("min", "max", "any", "all", "set", "frozenset")
"""Functions whose result does not depend on the order of what they walk over."""


def builtin(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """Compile a call of the built-in function `name` with arguments that are compiled already."""
    if name == "iter" and any(shared_inside(f, type_or_none(a)) for a in args):
        return f.problem(
            node, "`iter` of a list that several names refer to is not in the language", "write a loop with an index"
        )
    args = [without_sharing(f, node, a) for a in args]
    if name not in ("isinstance", "type", "str", "repr"):  # what else takes a tuple looks at its elements
        args = list(map(untupled, args))
    if name == "sorted" and not kwargs and len(args) == 1 and (record := record_of(f, args[0])) is not None:
        return list_of(f, node, list(map(Static, sorted(record.keys_of_record))))  # type: ignore[attr-defined]
    if name == "sorted" or name in ("max", "min") and "key" in kwargs:
        return ordered(f, node, name, args, kwargs)
    walked = args
    if name in NAMES_WITHOUT_ORDER and len(args) == 1:
        args = [in_any_order(f, node, args[0])]
    if name in library.BUILTINS and not kwargs and not all(known(a)[0] for a in args):
        items = [a if is_number(a) or kind(a) == "tensor" else as_list(f, node, iterable(f, a)) for a in args]
        return f.program.call(f, node, library.BUILTINS[name], items, {})
    if name in ("min", "max") and set(kwargs) == {"default"} and len(args) == 1:
        return extreme_or(f, node, name, args[0], kwargs["default"])
    if name == "enumerate":
        xs, start = CallArguments(name, args, kwargs).bind("iterable", "start", start=Static(0))
        args, kwargs = ([xs] if start == Static(0) else [xs, start]), {}
    if name == "round":
        args, kwargs = list(CallArguments(name, args, kwargs).bind("number", "ndigits", ndigits=Static(None))), {}
    if kwargs and not (name == "zip" and set(kwargs) == {"strict"}):
        return f.problem(node, f"`{name}` takes no keyword arguments here")
    if any(nothing_known(a) for a in args):
        return unknown()
    handler = BUILTINS.get(name)
    result = None if handler is None else handler(f, node, args, hint)
    if result is not None:
        return note_made(f, result, walked[0]) if name in ("set", "frozenset") and walked else result
    how = "cannot be used like this here" if handler is not None or name == "sorted" else "is not in the language"
    return f.problem(node, *refusal(name, f"`{name}` {how}", "LANGUAGE.md lists the functions"))


def _of_python(function: Any) -> Callable[..., Value] | None:
    """The handler of a built-in function object; None for other objects."""
    name = getattr(function, "__name__", "")
    if not callable(function) or not name or getattr(python_builtins, name, None) is not function:
        return None

    def work(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        return builtin(f, node, name, args, kwargs, hint)

    return work


LIBRARY_RULES.append(_of_python)


@handles(FUNCTIONS, collections.deque)
def _deque(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    limit = args.pop() if len(args) == 2 else kwargs.pop("maxlen", Static(None))
    if limit != Static(None):
        return instantiate(f, node, queues.BoundedDeque, [*(args or [Static(())]), limit], {})
    return builtin(f, node, "list", args, kwargs, hint)


# ---- objects


@handles(BUILTINS, "getattr")
def _getattr(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [owner, Static(str() as name)]:
            return attribute(f, node, owner, name)
        case [Dyn(type=DataT()) as owner, Static(str() as name), default] if f.program.carried.is_field(name):
            return attribute_or(f, node, owner, name, default)
        case [owner, Static(str() as name), default]:
            has_attribute = _has_attribute(f, owner, name)
            return None if has_attribute is None else attribute(f, node, owner, name) if has_attribute else default
        case [owner, OneOf() as names, *default] if len(default) < 2:
            if default and any(_has_attribute(f, owner, str(known(name)[1])) is None for name in names.alternatives):
                return None
            others: list[Value] = list(default)
            return mapped_choice(f, node, names, lambda name: _getattr(f, node, [owner, name, *others], hint) or unknown())
        case [owner, Dyn()] if (told := told_constants(f, node.args[1])) and all(isinstance(x, str) for x in told):
            return of_narrowed(f, node, node.args[1], told, lambda name: attribute(f, node, owner, name))
        case [owner, name, *default] if is_name_of_run_time(name) and len(default) < 2:
            return named(f, node, owner, name, lambda owner, name: attribute(f, node, owner, name), *default)
    return None


@handles(BUILTINS, "type")
def _type(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [Static(value)]:
            return Static(type(value))
        case [Special() as value] if value.python_object is not None:
            return Static(type(value.python_object))
        case [Dyn(type=DataT()) as value]:
            return class_of(f, node, value)
        case [value] if kind(value) == "varying tuple":
            return Static(tuple)
    return None


@handles(BUILTINS, "hasattr")
def _hasattr(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [Dyn(type=DataT(union)), Static(str() as name)] if f.program.carried.is_field(name) or _is_late(f, union, name):
            what = f"`hasattr` of `{name}`, which the model assigns to, is not in the language"
            return f.problem(node, what, "give it None in `__init__`, and ask for that")
        case [owner, Static(str() as name)]:
            has_attribute = _has_attribute(f, owner, name)
            return None if has_attribute is None else Static(has_attribute)
        case [owner, name] if is_name_of_run_time(name):
            return has_named(f, node, owner, name)
    return None


def _is_late(f: Frame, union: str, name: str) -> bool:
    return any(name in f.program.datatypes.late.get(c, ()) for c in f.program.datatypes.cases.get(union, ()))


def _has_attribute(f: Frame, owner: Value, name: str) -> bool | None:
    """Whether a value has an attribute; None where this is not known at compile time, or the value has no attributes."""
    if isinstance(owner, Special):
        return owner.has_attribute(f.program.reads, name)
    if (cls := derived_class(f, owner)) is not None:
        return hasattr(cls, name)
    if not isinstance(owner, Dyn) or not isinstance(owner.type, DataT):
        return None
    classes = f.program.datatypes.cases.get(owner.type.name, ())
    datatypes = f.program.datatypes
    if datatypes.is_constant(owner.type.name):
        found = {datatypes.graphs.has(c, name) for c in classes}
        return found.pop() if len(found) == 1 else None
    have = {
        datatypes.has_field(c, name) or name in datatypes.attribute_names(c) or not issubclass(c, RecordOf) and hasattr(c, name)
        for c in classes
    }
    return have.pop() if len(have) == 1 else None


@handles(BUILTINS, "isinstance")
def _isinstance(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) == 2 and isinstance(args[0], OneOf) and args[0].about is None:  # one of several modules
        asked = [partial(_isinstance, f, node, [v, args[1]], hint) for v in args[0].alternatives]
        return among(f, node, args[0].index, asked)  # type: ignore[arg-type]
    if len(args) == 2 and isinstance(args[0], Dyn) and isinstance(args[0].type, DataT):
        return of_class(f, node, args[0], None, args[1], lambda: Static(True), lambda: Static(False))
    match [*args[:-1], *(Static(constant(a, "a class")) for a in args[-1:])]:
        case [Static(value), Static(classes)] if type(value) is not tuple or not asks_for_tuples(classes):
            return Static(isinstance(value, classes))
        case [Special() as value, Static(classes)] if value.python_object is not None:
            return Static(isinstance(value.python_object, classes))
        case [_, Static(classes)] if kind(args[0]) == "list" and (
            as_annotated := is_instance_as_annotated(f, node.args[0], list(several(classes)))
        ):
            return as_annotated
        case [value, Static(classes)] if is_string(value) and all(isinstance(c, EnumType) for c in several(classes)):
            return contains(f, value, [member for cls in several(classes) for member in cls])  # type: ignore[attr-defined]
        case [value, Static(classes)] if (answer := is_instance(f, node, value, list(several(classes)))) is not None:
            return answer
    return f.problem(node, "`isinstance` is not in the language", "take the value apart with `match`")


@handles(BUILTINS, "slice")
def _slice(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case [stop]:
            return SliceOf(Static(None), stop, Static(None))
        case [start, stop, *step] if len(step) < 2:
            return SliceOf(start, stop, *(step or [Static(None)]))
    return None


# ---- functions made from the name of an attribute


@handles(FUNCTIONS, operator.attrgetter)
def _getter(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    names = [known(a)[1] for a in args]
    if names and not kwargs and all(isinstance(x, str) for x in names):
        return Static(_attribute_getter(*names))
    return f.problem(node, f"`{ast.unparse(node.func)}` takes names that are known at compile time", "write a lambda")


@handles(FUNCTIONS, operator.itemgetter)
def _item_getter(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    facts = [known(a) for a in args]
    if facts and not kwargs and all(is_known for is_known, _ in facts):
        return Static(_getter_of_items(*(key for _, key in facts)))
    return f.problem(node, f"`{ast.unparse(node.func)}` takes constants here", "write a lambda")


@cache
def _attribute_getter(*names: str) -> operator.attrgetter[Any]:
    """The one `attrgetter` with these names: functions that are given it are compiled once."""
    return operator.attrgetter(*names)


@cache
def _getter_of_items(*keys: Any) -> operator.itemgetter[Any]:
    return operator.itemgetter(*keys)
