"""What calls that change their arguments require of ownership, and what they do to it: two arguments may be the same list, or
one a part of the other, and the call may have put one argument, or a part of it, into another."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.frame.claims import Claims, claims, deep, spine
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.ownership.fresh import fresh_inside
from backends.acrobat.frontend.evaluator.ownership.ownership import changeable, objects_only
from backends.acrobat.frontend.evaluator.ownership.sharing import may_share
from backends.acrobat.frontend.kinds import type_or_none, variable_of
from backends.acrobat.frontend.values import Value, is_empty


def seen_twice(f: Frame, arguments: Sequence[tuple[ast.expr, Value]]) -> Claims:
    """The claims that do not hold inside of a call, because it receives two references to one list or object, or to a part of
    one: `f(xs, xs)`, `f(table, table[0])`. `arguments` is as for `taken_in`."""
    lost: Claims = set()
    known = [(root_of(written), written, type_or_none(value)) for written, value in arguments]
    named = [(root, written, t) for root, written, t in known if root is not None and t is not None and changeable(f, t)]
    for i, (root, one, t) in enumerate(named):
        for same, other, u in named[:i]:
            if same != root or _are_disjoint(one, other):
                continue
            if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                lost |= claims(root)
                continue
            lost.add(deep(root))
            if not all(objects_only(f, x) for part, x in ((one, t), (other, u)) if not isinstance(part, ast.Name)):
                lost.add(spine(root))
    return lost


def _are_disjoint(one: ast.expr, other: ast.expr) -> bool:
    """Whether two paths from one name lead to parts that have nothing in common, as `x.left` and `x.right` do."""
    for a, b in zip(_steps(one), _steps(other), strict=False):
        match a, b:
            case ast.Attribute(attr=x), ast.Attribute(attr=y):
                apart = x != y
            case ast.Subscript(slice=ast.Constant(x)), ast.Subscript(slice=ast.Constant(y)):
                apart = x != y  # a negative index, which may be the same place, is no constant in the tree
            case _:
                return False
        if apart:
            return True
    return False


def _steps(path: ast.expr) -> list[ast.expr]:
    """The attributes and items on a path, from the name at its root on."""
    found: list[ast.expr] = []
    while isinstance(path, (ast.Attribute, ast.Subscript)):
        found.insert(0, path)
        path = path.value
    return found


def taken_in(f: Frame, changed: Sequence[str], arguments: Sequence[tuple[ast.expr, Value]]) -> None:
    """Update `Frame.owned` after a call that has changed the values of the names `changed`. `arguments` has its arguments, and
    the object whose method it calls: each as it is written, with its value from before the call. For a list of all objects of a
    class, the claims say whether attributes may have received lists that something else refers to; whether they have received
    objects is not recorded."""
    roots = [root_of(written) for written, _ in arguments]
    for name in changed:
        room = _parts_of(f, type_or_none(f.env[name]))
        lists_stay = name in f.program.carried.objects and spine(name) in f.owned
        for written, value in arguments:
            root, t = root_of(written), type_or_none(value)
            whole = isinstance(written, ast.Name)
            if t is None or not changeable(f, t) or _is_new(f, written, value):
                continue
            if root == name and (whole or roots.count(name) == 1):
                continue  # this is the argument that was changed
            if whole and root in f.claims_kept and (deep(root) in f.claims_kept or not _parts_of(f, t)):
                continue  # the call has changed this one, too, and put neither it nor a part of it anywhere
            if lists_stay and isinstance(t, ListT) and not may_share(f, _in_objects(f, room), {t, *_own_lists(f, t)}):
                if root is not None and may_share(f, room, changeable_types(f, [t.item])):
                    f.owned.discard(deep(root))
                continue
            lent = changeable_types(f, [t])
            of_any = is_empty(value)  # what it will have in it is not known, so neither is the type of a list that has it
            if not (any(isinstance(x, ListT) for x in room) if of_any else may_share(f, room, lent)):
                continue
            if root is not None:
                f.owned -= claims(root) if whole else {deep(root), spine(root)}
            f.owned.discard(deep(name))
            own = _own_lists(f, type_or_none(f.env[name]))
            if not lists_stay and spine(name) not in f.claims_kept and (bool(own) if of_any else may_share(f, own, lent)):
                f.owned.discard(spine(name))


def _is_new(f: Frame, written: ast.expr, value: Value) -> bool:
    """Whether nothing else refers to a value that was made for a call, nor to anything in it."""
    return not isinstance(written, ast.Name) and (
        deep(variable_of(value)) in f.new_lists or fresh_inside(f, written, type_or_none(value))
    )


def _parts_of(f: Frame, t: Any) -> Mapping[Any, None]:
    """The types of changeable values that may be inside of a value of type `t`."""
    return changeable_types(f, _inside(f, t))


def _in_objects(f: Frame, types: Iterable[Any]) -> Mapping[Any, None]:
    """The types of changeable values that may be inside of the objects among values of these types."""
    objects = [t for t in types if isinstance(t, DataT) and t.name in f.program.datatypes.cases]
    return changeable_types(f, [x for t in objects for x in _inside(f, t)])


def _own_lists(f: Frame, t: Any) -> set[Any]:
    """The types of lists, sets and dictionaries inside of a value of type `t` that are not inside of another object."""
    identities: set[Any] = set()
    pending = _inside(f, t)
    while pending:
        inner = pending.pop()
        if inner not in identities and not (isinstance(inner, DataT) and inner.name in f.program.datatypes.cases):
            identities.add(inner)
            pending += _inside(f, inner)
    return {inner for inner in identities if isinstance(inner, ListT)}


def changeable_types(f: Frame, types: Sequence[Any]) -> dict[Any, None]:
    """The types of changeable values among values of these types and what is inside of them, to any depth."""
    return {t: None for t in types_inside(f, types) if changeable(f, t)}


def types_inside(f: Frame, types: Sequence[Any]) -> dict[Any, None]:
    """The types of lists and objects among values of these types and what is inside of them, to any depth."""
    found: dict[Any, None] = {}
    pending = list(types)
    while pending:
        t = pending.pop()
        if t is not None and t not in found:
            found[t] = None
            pending += _inside(f, t)
    return {t: None for t in found if isinstance(t, ListT) or isinstance(t, DataT) and t.name in f.program.datatypes.cases}


def _inside(f: Frame, t: Any) -> list[Any]:
    """The types of what a value of type `t` refers to."""
    match t:
        case ListT(item):
            return [item]
        case TupleT(items):
            return list(items)
        case DataT(name):
            known = f.program.datatypes
            if name in known.optionals:
                return [known.optionals[name]]
            if name in known.mixed:
                return list(known.mixed[name].values())
            classes = known.cases.get(name, ())
            return [x for (cls, _), x in known.fields.items() if cls in classes]
    return []
