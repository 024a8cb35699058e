"""Copies: `copy.copy` and `copy.deepcopy`. The program's values never change, so that a copy is the same value under another
name; what differs is who may change it in place (`ownership`)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from backends.acrobat.core.types import DICT, IDENTITY, INT, LIST, DataT, ListT, TupleT
from backends.acrobat.frontend.evaluator.builtins.builtins import builtin
from backends.acrobat.frontend.evaluator.callables.effects import among_calls
from backends.acrobat.frontend.evaluator.choices.choice import is_none, optional
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import number_of_class
from backends.acrobat.frontend.evaluator.objects.construction import new_object
from backends.acrobat.frontend.evaluator.objects.referenced import attribute_of, is_referenced
from backends.acrobat.frontend.evaluator.ownership.lending import types_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import has_plain_items
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import (
    is_array,
    is_container,
    is_list,
    is_object,
    is_plain,
    is_unknown,
    nothing_known,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.types import is_shared
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value, unknown
from backends.acrobat.library import copying, words


def _copied(name: str, f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`copy.copy(x)` or `copy.deepcopy(x)`, whichever `name` says."""
    if len(args) != 1 or kwargs:
        return f.problem(node, f"`{name}` takes one value here")
    (value,) = args
    if isinstance(value, Static) and not is_plain(value) and value.value is not None:
        value = f.staged(f.as_object(value))
    if nothing_known(value) or is_plain(value) or is_array(value) or isinstance(value, Static):
        return value  # a number, a string or None; of a tensor, which is not changed in place under the new name
    if isinstance(value, TupleV):
        return replace(value, items=tuple(_copied(name, f, node, [x], {}, hint) for x in value.items))
    if not is_container(value) and not is_object(value):
        return f.problem(node, f"`{name}` copies lists, sets, dictionaries, objects and tensors")
    if name == "copy" and is_referenced(f, value) and not is_shared(f.without_none(type_or_none(value))):
        return _another(f, node, value)  # type: ignore[arg-type]
    if name == "deepcopy" and (made := _deep(f, node, value, True)) is not None:
        return made
    if cls := _with_own_copy(f, value, name):
        what = f"`{cls.__name__}` says itself how it is copied, or its objects are told apart by identity"
        return f.problem(node, what, "write a method that makes the copy")
    if is_list(value):
        value = builtin(f, node, "list", [value], {}, "")  # type: ignore[arg-type, assignment]
    if is_unknown(value):
        return value
    assert isinstance(value, Dyn)
    result = f.bind(value.atom, hint or "copy")
    variable = variable_of(result)
    f.new_lists |= {variable, deep(variable)} if name == "deepcopy" or has_plain_items(f, result) else {variable}
    return result


def _deep(f: Frame, node: ast.AST, value: Value, alone: bool) -> Value | None:
    """A deep copy of a numbered object or list, or of a list or dictionary of such. None if there are none inside, or if one
    could occur twice inside. `alone` says that nothing else is copied that may contain the same ones."""
    t = type_or_none(value)
    if not _have_numbers(f, [t]):
        return None if alone else value
    if is_referenced(f, value):
        inside = _in_attributes(f, f.without_none(t))
        if inside is None or not alone or sum(_have_numbers(f, [x]) for x in inside) > 1:
            return None
        return _another(f, node, value, lambda x: _deep(f, node, x, False))  # type: ignore[arg-type]
    match t:
        case ListT(TupleT([_, part]), kind=kind) if kind == DICT:
            work = copying.values_once
        case ListT(DataT() as part, kind=kind) if kind == LIST:
            work = copying.each_once
        case _:
            return None
    inside = _in_attributes(f, part)
    return None if inside is None or _have_numbers(f, inside) else f.call_with(work, [value], node)


def _have_numbers(f: Frame, types: Sequence[Any]) -> bool:
    """Whether values of these types are numbered objects or lists, or contain such."""
    return any(isinstance(t, DataT) and f.program.datatypes.is_referenced(t.name) for t in types_inside(f, types))


def _in_attributes(f: Frame, t: Any) -> list[Any] | None:
    """The types of the attributes of numbered objects of type `t`. None for other types, and if a class defines how its objects
    are copied."""
    datatypes = f.program.datatypes
    if not isinstance(t, DataT) or not datatypes.is_referenced(t.name):
        return None
    classes = datatypes.cases[t.name]
    if any(hasattr(c, "__deepcopy__") for c in classes):
        return None
    return [datatypes.field_type(c, x) for c in classes for x in datatypes.attribute_names(c)]


@handles(FUNCTIONS, words.another)
def _another_of(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return unknown() if is_unknown(args[0]) else _another(f, node, args[0], lambda x: x)  # type: ignore[arg-type]


def _another(f: Frame, node: ast.AST, value: Dyn, work: Callable[[Value], Value | None] | None = None) -> Value:
    """A new numbered object with the attribute values of another one; for a deep copy `work` is applied to each value."""
    if optional(f, value) is not None:
        there = f.host("int", [is_none(f, value, negate=True)], INT, "there")
        some = lambda: _another(f, node, opened(f, node, value), work)  # type: ignore[arg-type]  # noqa: E731
        return among_calls(f, node, there, [lambda: Static(None), some])
    assert isinstance(value.type, DataT)
    t, datatypes = value.type, f.program.datatypes
    classes = datatypes.cases[t.name]
    if own := [c for c in classes if hasattr(c, "__copy__")]:
        return f.problem(node, f"`{own[0].__name__}` says itself how it is copied", "write a method that makes the copy")

    def of(cls: type) -> Value:
        attributes = {x: attribute_of(f, value, classes, cls, x) for x in datatypes.attribute_names(cls)}
        if work is None:
            return new_object(f, node, cls, t, attributes)
        copies = {x: work(v) for x, v in attributes.items()}
        if not all(copies.values()):
            raise Refused("`deepcopy` of lists with several names is not followed here", "write a method that makes the copy")
        return new_object(f, node, cls, t, copies, "nothing")  # type: ignore[arg-type]

    which = number_of_class(f, value, classes) if len(classes) > 1 else Static(0)
    return among_calls(f, node, which, [partial(of, c) for c in classes])


def _with_own_copy(f: Frame, value: Value, name: str) -> type | None:
    """A class among the objects to be copied that defines its own copying, or whose objects are compared by identity: a copy
    would not be the same value under another name."""
    datatypes = f.program.datatypes
    types = [type_or_none(value)] if name == "copy" else list(types_inside(f, [type_or_none(value)]))
    inner = [datatypes.optionals.get(t.name, t) for t in types if isinstance(t, DataT)]
    classes = [cls for t in inner if isinstance(t, DataT) for cls in datatypes.cases.get(t.name, ())]
    return next((cls for cls in classes if hasattr(cls, f"__{name}__") or datatypes.has_field(cls, IDENTITY)), None)


FUNCTIONS[copy.copy] = partial(_copied, "copy")
FUNCTIONS[copy.deepcopy] = partial(_copied, "deepcopy")
