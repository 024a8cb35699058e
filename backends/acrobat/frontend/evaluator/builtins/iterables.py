"""Python's functions that give lists, sets, dictionaries, tuples and iterators, and `len`."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import DICT, INT, ListT, TupleT
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.containers.records import copied
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.expressions.length import length_of
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode, dict_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import length
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.lists.zipping import of_modules, zipped
from backends.acrobat.frontend.evaluator.loops.endless import is_endless
from backends.acrobat.frontend.evaluator.objects.classes import records_of
from backends.acrobat.frontend.evaluator.tables import BUILTINS, FUNCTIONS, handles
from backends.acrobat.frontend.kinds import (
    as_tuple,
    is_array,
    is_held_tensor,
    is_list,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, unknown
from backends.acrobat.library import iteration


@handles(BUILTINS, "set", "frozenset")
def _set(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    match args:
        case []:
            return containers.empty_of_kind(f, "set")
        case [xs] if is_array(xs) or is_held_tensor(xs):
            what = "a set of the elements of a tensor has all of them in Python, where each is a tensor of its own"
            raise Refused(what, "write `set(x.tolist())`")
        case [xs]:
            return containers.set_of(f, node, iterable(f, xs))
    return None


@handles(BUILTINS, "dict")
def _dict(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) == 1 and isinstance(args[0], Held):
        args = [as_list(f, node, iterable(f, args[0]))]
        if nothing_known(args[0]):
            return unknown()
    match args:
        case []:
            return containers.empty_of_kind(f, "dict")
        case [xs] if is_list(xs):
            return containers.dict_of_pairs(f, node, xs)
        case [xs] if kind(xs) == "dict":
            return xs if is_unknown(xs) else containers.of_kind(xs, DICT)
        case [xs] if records_of(f, xs):
            return copied(f, node, xs)  # type: ignore[arg-type]
        case [Keywords() | Static(dict()) as entries]:
            return f.expression(ast.copy_location(ast.Dict([None], [ast.copy_location(CompiledNode(entries), node)]), node))
    return None


@handles(FUNCTIONS, collections.OrderedDict)
def _ordered_dict(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    entries = dict_of(f, node, kwargs) if kwargs and not args else _dict(f, node, args, hint)
    if entries is None or kwargs and args:
        raise Refused("`OrderedDict` takes a dictionary, pairs, or values by name here", "write a display, `{**d, 'name': x}`")
    return entries


@handles(BUILTINS, "list")
def _list(f: Frame, node: ast.AST, args: list[Value], hint: str) -> Value | None:
    if len(args) > 1:
        return None
    whole = iterable(f, args[0]) if args else TupleV(())
    return list_of(f, node, list(whole.items), hint) if isinstance(whole, TupleV) else whole


@handles(BUILTINS, "tuple")
def _tuple(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) > 1:
        return None
    whole = f.static_list(iterable(f, args[0])) if args else TupleV(())
    if isinstance(whole, TupleV):
        return TupleV(whole.items)
    return as_tuple(whole) if is_list(whole) else unknown() if is_unknown(whole) else None


@handles(BUILTINS, "len")
def _len(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return length_of(f, node, args[0]) if len(args) == 1 else None


@handles(BUILTINS, "range")
def _range(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if not 1 <= len(args) <= 3:
        return None
    start, stop, step = ([Static(0), *args, Static(1)] if len(args) == 1 else [*args, Static(1)])[:3]
    if any(type_or_none(a) != INT for a in args):
        return f.problem(node, "`range` takes ints", "read a tensor's value with int(...)")
    facts = [known(a) for a in args]
    if all(k for k, _ in facts):
        return Static(range(*(v for _, v in facts)))
    return f.host("range", [start, stop, step], ListT(INT))


@handles(BUILTINS, "reversed")
def _reversed(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 1:
        return None
    if isinstance(args[0], Held):
        return f.problem(node, "`reversed` takes a list", "write reversed(list(...))")
    whole = iterable(f, args[0])
    if isinstance(whole, TupleV):
        return Held("iterator", TupleV(whole.items[::-1]))
    return whole if is_unknown(whole) else Held("iterator", f.host("list.reverse", [whole], type_of(whole), "reversed"))


@handles(BUILTINS, "enumerate")
def _enumerate(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if not 1 <= len(args) <= 2:
        return None
    whole = iterable(f, args[0])
    is_known, start = known(args[1]) if len(args) == 2 else (True, 0)
    if isinstance(whole, TupleV) and is_known:
        return Held("iterator", TupleV(tuple(TupleV((Static(i), v)) for i, v in enumerate(whole.items, start))))
    if is_unknown(whole):
        return unknown()
    if len(args) == 2:
        items = as_list(f, node, whole)
        return Held("iterator", f.call_with(iteration.numbered, [items, args[1]]))
    return Held("iterator", f.host("enumerate", [whole], ListT(TupleT((INT, type_of(whole).item)))))


@handles(BUILTINS, "zip")
def _zip(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    lists = _as_long_as_others(f, args)
    strict = any(k.arg == "strict" and ast.unparse(k.value) == "True" for k in node.keywords)
    if strict and lists:
        if len({len(xs.items) for xs in lists if isinstance(xs, TupleV)}) > 1:
            raise Refused("`zip` with `strict=True` of tuples of different lengths")
        lists = [as_list(f, node, xs) if isinstance(xs, TupleV) and not of_modules(xs) else xs for xs in lists]
        first, *others = lists
        if not any(isinstance(xs, TupleV) or nothing_known(xs) or is_unknown(xs) for xs in lists):
            lists = [first, *(f.call_with(iteration.same_length, [xs, first]) for xs in others)]
    return zipped(f, node, lists) if args else None


def _as_long_as_others(f: Frame, args: Sequence[Value]) -> list[Value]:
    """What the arguments of a `zip` iterate. Those without an end are taken to be as long as another one. Raises Refused."""
    lists = [None if is_endless(a) else iterable(f, a) for a in args]
    others = [xs for xs in lists if xs is not None]
    if len(others) == len(lists):
        return others
    if not others:
        raise Refused("`zip` of iterators without an end has none", "put a list beside them")
    if any(is_unknown(xs) for xs in others):
        return [unknown()]
    tuples = [xs for xs in others if isinstance(xs, TupleV)]
    count: Any = min(len(xs.items) for xs in tuples) if tuples else length(f, others[0])
    return [a.value.first(count) if xs is None else xs for a, xs in zip(args, lists, strict=True)]  # type: ignore[union-attr]


@handles(BUILTINS, "map")
def _map(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) > 2:  # of several lists
        function, *several = args
        rows = iterable(f, zipped(f, node, _as_long_as_others(f, several)))
        work = lambda row: called(f, node, function, f.components(row) or [], {})  # noqa: E731
        if isinstance(rows, TupleV):
            return Held("iterator", TupleV(tuple(map(work, rows.items))))
        return unknown() if is_unknown(rows) else Held("iterator", mapped(f, [rows], work))
    return _mapped(f, node, *args) if len(args) == 2 else None


def _mapped(f: Frame, node: ast.Call, function: Value, xs: Value) -> Value:
    """`map(function, xs)`."""
    whole = iterable(f, xs)
    if isinstance(whole, TupleV):
        return Held("iterator", TupleV(tuple(called(f, node, function, [x], {}) for x in whole.items)))
    if is_unknown(whole):
        return unknown()
    return Held("iterator", mapped(f, [whole], lambda x: called(f, node, function, [x], {})))
