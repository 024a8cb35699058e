"""Copies: `copy.copy` and `copy.deepcopy`. The program's values never change, so that a copy is the same value under another
name; what differs is who may change it in place (`ownership`)."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from functools import partial

from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.builtins.builtins import builtin
from backends.acrobat.frontend.evaluator.choices.choice import among, open_optional, optional
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.classes import number_of_class
from backends.acrobat.frontend.evaluator.objects.construction import new_object
from backends.acrobat.frontend.evaluator.objects.referenced import attribute_of, is_referenced
from backends.acrobat.frontend.evaluator.ownership.lending import types_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import has_plain_items
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS
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
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value


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


def _another(f: Frame, node: ast.AST, value: Dyn) -> Value:
    """Another object with what one that is a number has in its attributes."""
    if optional(f, value) is not None:
        return open_optional(f, node, value, lambda some: _another(f, node, some), lambda: Static(None))  # type: ignore[arg-type]
    assert isinstance(value.type, DataT)
    t, datatypes = value.type, f.program.datatypes
    classes = datatypes.cases[t.name]
    if own := [c for c in classes if hasattr(c, "__copy__")]:
        return f.problem(node, f"`{own[0].__name__}` says itself how it is copied", "write a method that makes the copy")

    def of(cls: type) -> Value:
        attributes = {x: attribute_of(f, value, classes, cls, x) for x in datatypes.attribute_names(cls)}
        return new_object(f, node, cls, t, attributes)

    return among(
        f, node, number_of_class(f, value, classes) if len(classes) > 1 else Static(0), [partial(of, c) for c in classes]
    )


def _with_own_copy(f: Frame, value: Value, name: str) -> type | None:
    """A class of objects that would be copied which has a method for that, or whose objects are told apart by identity: copies
    of these would be other objects."""
    datatypes = f.program.datatypes
    types = [type_or_none(value)] if name == "copy" else list(types_inside(f, [type_or_none(value)]))
    inner = [datatypes.optionals.get(t.name, t) for t in types if isinstance(t, DataT)]
    classes = [cls for t in inner if isinstance(t, DataT) for cls in datatypes.cases.get(t.name, ())]
    return next((cls for cls in classes if hasattr(cls, f"__{name}__") or datatypes.has_field(cls, IDENTITY)), None)


FUNCTIONS[copy.copy] = partial(_copied, "copy")
FUNCTIONS[copy.deepcopy] = partial(_copied, "deepcopy")
