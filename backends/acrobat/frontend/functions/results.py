"""What the model itself returns, as the boundary of the program can give it to the caller."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import DataT, ListT
from backends.acrobat.frontend.evaluator.choices.choice import open_optional, optional
from backends.acrobat.frontend.evaluator.containers.missing_keys import note_in_result
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import is_listed_tensors
from backends.acrobat.frontend.evaluator.lists.mapping import as_result, mapped
from backends.acrobat.frontend.evaluator.objects.construction import new_object
from backends.acrobat.frontend.evaluator.ownership.lending import types_inside
from backends.acrobat.frontend.instances.listed import ListOfValues, class_of_list, holds_listed
from backends.acrobat.frontend.kinds import as_kind, is_unknown, type_or_none
from backends.acrobat.frontend.types import UNKNOWN, Mismatch, contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, TupleV, Value


def of_model(f: Frame, at: ast.AST, value: Value) -> Value:
    """The result for a value that the model's `forward` returns at the statement `at`. Raises Mismatch."""
    note_in_result(f, value)
    result = _with_lists(f, at, as_result(f, value))
    _refuse_lists_in_objects(f, result)
    return result


def _with_lists(f: Frame, at: ast.AST, value: Value) -> Value:
    """A result with objects in place of lists of values of several types, which the boundary makes of them."""
    t = type_or_none(value)
    if isinstance(value, Dyn) and holds_listed(optional(f, value)):
        return open_optional(f, at, value, lambda some: _with_lists(f, at, some), lambda: Static(None))
    if not holds_listed(t) or contains_unknown(t):
        return value
    if isinstance(t, ListT):
        rows = mapped(f, [value], lambda x: _with_lists(f, at, x))
        return rows if is_unknown(rows) else as_kind(rows, t.kind)
    items = [_with_lists(f, at, v) for v in f.components(value) or ()]
    if not t.listed:
        return TupleV(tuple(items))
    cls = class_of_list(t)
    names = cls._fields  # type: ignore[attr-defined]
    union = DataT(f.program.datatypes.union_of_made(cls, names))
    return new_object(f, at, cls, union, dict(zip(names, items, strict=True)))


def _refuse_lists_in_objects(f: Frame, value: Value) -> None:
    """Raises Mismatch for a result with an object or a dictionary that has a list of values of several types, for which the
    program has a tuple. Where lists of mixed values can stand for such, the model is compiled again with these; and lists of
    tensors of several shapes are lists there from the next round on."""
    known = f.program.datatypes
    inside = types_inside(f, [type_or_none(value)])
    classes = {cls for t in inside if isinstance(t, DataT) for cls in known.cases.get(t.name, ())}
    classes = {cls for cls in classes - set(known.seen) if not issubclass(cls, ListOfValues)}
    listed = [(field, t) for field, t in known.fields.items() if field[0] in classes and holds_listed(t)]
    if of_tensors := [field for field, t in listed if is_listed_tensors(t) and field not in known.given_out]:
        known.given_out.update(of_tensors)
        for field in of_tensors:
            known.widen(*field, UNKNOWN)
        f.program.changed = f.program.incomplete = True
    elif listed:
        what = "a list of values of several types, in a dictionary or an object of the result, would be a tuple"
        raise Mismatch(f"{what}: write a tuple")
