"""What a loop walks over: a list of the program, or a tuple of what is known one by one."""

from __future__ import annotations

import ast
from enum import EnumType
from functools import partial

from backends.acrobat.core.types import INT, LIST, ListT
from backends.acrobat.frontend.evaluator.choices.choice import among
from backends.acrobat.frontend.evaluator.choices.mixed import ITERABLE
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ITERATION, handles
from backends.acrobat.frontend.kinds import as_kind, is_list, is_unknown, kind, known, plain_container, type_or_none
from backends.acrobat.frontend.specials import Endless, OneOf
from backends.acrobat.frontend.types import is_never_filled
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value


def iterable(f: Frame, value: Value) -> Value:
    """What a loop over `value` iterates: a list of the program, or a tuple to unroll the loop over. Raises Refused."""
    value = opened(f, ast.Pass(), value, "the loop needs a list", ITERABLE)
    handler = ITERATION.get(kind(value))
    if handler is not None:
        value = handler(f, value)
    if is_never_filled(type_or_none(value)):
        return TupleV(())
    if handler is not None:
        return value
    if is_list(value) or is_unknown(value):
        return plain_container(value)
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


@handles(ITERATION, Held, TupleV, Static)
def _known_items(f: Frame, value: Value) -> Value:
    match value:
        case Held("iterator", Endless()):
            raise Refused("an iterator without an end stands in a `zip` with a list, or in `islice`", "write a `while` loop")
        case Held("iterator", inner):
            return inner
        case Held("ids", TupleV() as inner):
            return inner
        case TupleV() | Static(tuple() | list()):
            unrolled: Value = f.static_list(value)
            return unrolled
        case Static(str() as text):
            return TupleV(tuple(map(Static, text)))
        case Static(dict() as keys):
            return TupleV(tuple(map(Static, keys)))
        case Static(EnumType() as members):
            return TupleV(tuple(map(Static, members)))
        case Static(set() | frozenset()):
            raise no_order()
        case Static(range() as r):
            return f.host("range", [Static(r.start), Static(r.stop), Static(r.step)], ListT(INT))
    raise Refused("only lists, ranges, tuples and module lists can be iterated over")


@handles(ITERATION, OneOf)
def _of_one(f: Frame, value: OneOf) -> Value:
    """The items of one of several constant lists, or the keys of one of several dictionaries."""
    if not value.of_containers or any(isinstance(known(v)[1], (set, frozenset)) for v in value.alternatives):
        raise Refused("only lists, ranges, tuples and module lists can be iterated over")
    items = [Static(list(known(v)[1])) for v in value.alternatives]
    return among(f, ast.Pass(), value.index, [partial(f.staged, v) for v in items])


@handles(ITERATION, "tuple")
def _components(f: Frame, value: Dyn) -> Value:
    return TupleV(tuple(f.components(value) or ()))


@handles(ITERATION, "varying tuple")
def _items_of_varying(f: Frame, value: Dyn) -> Value:
    return as_kind(value, LIST)


def no_order() -> Refused:
    """The error of a program whose result may depend on the order of a set."""
    return Refused("the order of a set is not known", "write `sorted(...)` around it")
