"""Copies: `copy.copy` and `copy.deepcopy`. The program's values never change, so that a copy is the same value under another
name; what differs is who may change it in place (`ownership`)."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from functools import partial

from backends.acrobat.core.types import IDENTITY, DataT
from backends.acrobat.frontend.evaluator.builtins.builtins import builtin
from backends.acrobat.frontend.evaluator.frame.claims import deep
from backends.acrobat.frontend.evaluator.frame.frame import Frame
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
