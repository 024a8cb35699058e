"""Types of trees in tuples that a recursion of the model makes: `(label, [children])`, `(state, left, right)`.

Rounds of compiling find of such a function that it gives a list of `(int, list[?])`, and no more: what is unknown is what the
recursion itself gives. Taking it for that closes the type. If that is wrong, types do not agree afterwards, which is an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import DataT, ListT, TupleT
from backends.acrobat.frontend.instances.datatypes import Datatypes
from backends.acrobat.frontend.types import UnknownT, contains_unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.visitor import lets


def closed(datatypes: Datatypes, type: Any) -> Any:
    """The type of what a recursion gives, closed: an innermost tuple of which a part is not known yet, because the recursion
    makes it, becomes a type of trees that have trees of the same type in that place. Other types stay as they are."""
    match type:
        case TupleT(items) if not any(map(_open_inside, items)):
            return _filled(type, _tree(datatypes, type), datatypes)
        case TupleT(items):
            return TupleT(tuple(closed(datatypes, t) if contains_unknown(t) else t for t in items))
        case ListT(TupleT(items) as item, rows=None) if contains_unknown(item) and not any(map(_open_inside, items)):
            return replace(type, item=_tree(datatypes, item))
        case ListT(item, rows=None):
            return replace(type, item=closed(datatypes, item))
    return type


def _tree(datatypes: Datatypes, tuple: TupleT) -> DataT:
    """The type of trees whose nodes are tuples of this type, in which those below are unknown."""
    return datatypes.tree(tuple, lambda tree: _filled(tuple, tree, datatypes))


def _open_inside(type: Any) -> bool:
    """Whether a type has a tuple in it that is not known entirely."""
    match type:
        case TupleT():
            return contains_unknown(type)
        case ListT(item):
            return _open_inside(item)
    return False


def _filled(type: Any, tree: DataT, datatypes: Datatypes, listed: bool = False) -> Any:
    """A type with `tree` in place of what is unknown. A list of trees may be empty, which ends the recursion; anywhere else a
    tree may be None, or no tree would have an end."""
    match type:
        case UnknownT():
            return tree if listed else datatypes.optional(tree)
        case TupleT(items):
            return TupleT(tuple(_filled(t, tree, datatypes) for t in items))
        case ListT(item):
            return replace(type, item=_filled(item, tree, datatypes, True))
    return type


def never_ends(function: n.Function) -> bool:
    """Whether a function calls itself whatever its arguments are. A recursion has to end, or its trees are of no type."""
    return _calls(function.body, function.name)


def _calls(expr: n.Expr, name: str) -> bool:
    bindings, last = lets(expr)
    return any(_calls_at_once(e, name) for e in (*(value for _, value in bindings), last))


def _calls_at_once(expr: n.Expr, name: str) -> bool:
    match expr:
        case n.Call(function):
            return function == name
        case n.If(_, then, orelse):
            return _calls(then, name) and _calls(orelse, name)
        case n.Match(_, arms):
            return all(_calls(arm.body, name) for arm in arms)
    return False
