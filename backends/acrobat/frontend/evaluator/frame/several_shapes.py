"""Lists of tensors of one rank and several shapes, such as the feature maps of a backbone's levels, or of tuples of such, such
as the states of layers. They have two forms.

- As a list of the program their elements are tensors whose extents vary. It may become longer or shorter at run time.
- As a tuple that the source writes as a list (`ListedV`) each element keeps its own shape wherever the value goes.

While the elements of a list are known one by one, each has its shape in both forms. Where such a list goes on into another
function, a loop or an object, the second form keeps them; where it changes at run time, it becomes the first one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import LIST, ListT, TupleT
from backends.acrobat.frontend.changing_methods import CHANGING
from backends.acrobat.frontend.evaluator.tables import COERCIONS
from backends.acrobat.frontend.kinds import is_list, type_or_none, variable_of
from backends.acrobat.frontend.other_sequences import OtherSequence
from backends.acrobat.frontend.syntax_nodes import every_node
from backends.acrobat.frontend.tensor_types import extents
from backends.acrobat.frontend.types import UNKNOWN, Mismatch
from backends.acrobat.frontend.values import Dyn, ListedV, TupleV, Value
from backends.acrobat.ir import nodes as n


def differ_in_shape(types: Sequence[Any]) -> bool:
    """Whether types are those of tensors of one rank, or of tuples of such and others, which differ in extents only."""
    return bool(types) and all(_are_alike(types[0], t) for t in types[1:])


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, TupleT) and isinstance(other, TupleT) and len(one.items) == len(other.items):
        return one.listed == other.listed and all(map(_are_alike, one.items, other.items))
    shapes = [extents(t) for t in (one, other)]
    return one == other or None not in shapes and len(shapes[0] or ()) == len(shapes[1] or ())


def with_shapes(f: Any, value: Value) -> Value:
    """A list of tensors of several shapes that are known one by one, as a written list; other values unchanged."""
    items = f.displays.get(variable_of(value), ()) if is_list(value) else ()
    types = [type_or_none(v) for v in items]
    return written(f, items) if len({*types}) > 1 and None not in types and differ_in_shape(types) else value


def written(f: Any, items: Sequence[Value]) -> Value:
    """A list whose elements are known one by one as a written list, of which it is noted that it is no tuple in Python."""
    types = tuple(type_or_none(v) or UNKNOWN for v in items)
    f.program.listed.met.append(OtherSequence(None, None, (TupleT(types),), lambda _: True))
    return ListedV(tuple(items))


def like(f: Any, value: Value, type: Any) -> Value:
    """A list whose elements are known one by one, as a written list where `type` is that of such ones, or None, of this length;
    other values unchanged."""
    whole = f.without_none(type)
    if not isinstance(whole, TupleT) or not whole.listed or not is_list(value):
        return value
    items = f.displays.get(variable_of(value), ())
    return written(f, items) if items and len(items) == len(whole.items) else value


def all_like(f: Any, values: Sequence[Value], types: Sequence[Any] = ()) -> list[Value]:
    """The values, each as `like` says of the types of the others and of `types`."""
    known = [*types, *map(type_or_none, values)]
    listed = next((t for t in known if isinstance(f.without_none(t), TupleT) and f.without_none(t).listed), None)
    return list(values) if listed is None else [like(f, v, listed) for v in values]


def as_list_of_tensors(f: Any, value: Value) -> Value:
    """A written list of tensors of several shapes as a list of the program, of which the elements are still known one by one;
    other values unchanged, and such as have no extent that varies in common."""
    t = type_or_none(value)
    if not is_listed_tensors(t):
        return value
    items = value.items if isinstance(value, TupleV) else f.components(value) or []
    try:
        whole = ListT(f.common(t.items, numbers=True))
    except Mismatch:
        return value
    result: Dyn = f.bind(n.ListOf(tuple(f.atom(f.coerce(v, whole.item)) for v in items), whole, span=f.span), "list")
    f.displays[variable_of(result)] = tuple(items)
    return result


def is_listed_tensors(type: Any) -> bool:
    """Whether a type is that of written lists of tensors, or of tuples of tensors, that differ in extents only."""
    return isinstance(type, TupleT) and type.listed and differ_in_shape(type.items)


def changes_in(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether statements change the list that a name has, by a method, an operator or an item."""
    for node in (x for s in body for x in every_node(s)):
        match node:
            case ast.Call(ast.Attribute(ast.Name(owner), method)) if owner == name and method in CHANGING:
                return True
            case ast.AugAssign(ast.Name(owner)) | ast.Subscript(ast.Name(owner), ctx=ast.Store() | ast.Del()) if owner == name:
                return True
    return False


def _as_the_other_form(f: Any, value: Value, have: Any, type: Any) -> Value | None:
    """Coercion from one form to the other."""
    other = value
    if isinstance(type, TupleT):
        other = like(f, value, type)
    elif is_listed_tensors(have) and isinstance(type, ListT) and type.rows is None and type.kind == LIST:
        other = as_list_of_tensors(f, value)
    result: Value | None = None if other is value else f.coerce(other, type)
    return result


COERCIONS.append(_as_the_other_form)
