"""`min`, `max` and `sorted`."""

from __future__ import annotations

import ast
import functools
from functools import partial
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, SET, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.builtins.sums import extremum
from backends.acrobat.frontend.evaluator.builtins.ties import default_of_ties
from backends.acrobat.frontend.evaluator.choices.choice import Arm, choose, fail, one_of
from backends.acrobat.frontend.evaluator.choices.mixed_order import has_order
from backends.acrobat.frontend.evaluator.choices.nones import opened_inside
from backends.acrobat.frontend.evaluator.conditions.comparisons import comparison
from backends.acrobat.frontend.evaluator.containers import containers
from backends.acrobat.frontend.evaluator.expressions.callees import called
from backends.acrobat.frontend.evaluator.expressions.length import length_of
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.spreading import is_spread
from backends.acrobat.frontend.evaluator.lists.lengths import item_type
from backends.acrobat.frontend.evaluator.lists.lists import as_list, list_of
from backends.acrobat.frontend.evaluator.lists.mapping import fold, head, mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.scalars.operators import as_int, binary
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import BUILTINS, NUMBERS, handles
from backends.acrobat.frontend.kinds import (
    is_list,
    is_number,
    is_tensor,
    is_unknown,
    kind,
    known,
    nothing_known,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.types import is_never_filled, is_tuple_type
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import iteration, sorting


@handles(BUILTINS, "min")
def _min(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _extreme(f, node, "min", args)


@handles(BUILTINS, "max")
def _max(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _extreme(f, node, "max", args)


def _extreme(f: Frame, node: ast.Call, name: str, args: list[Value]) -> Value | None:
    if any(map(is_spread, args)):
        return _of_spread(f, name, args)
    facts = [known(a) for a in args]
    if len(args) == 1:
        is_taken_apart = isinstance(args[0], (Held, Static)) or isinstance(type_or_none(args[0]), TupleT)
        xs = iterable(f, args[0]) if is_taken_apart else args[0]
        if isinstance(xs, TupleV) and xs.items:
            return _of_parts(f, node, name, list(xs.items))
        item = getattr(type_or_none(xs), "item", None)
        if not isinstance(item, ScalarT) and has_order(f, item) and (is_list(xs) or kind(xs) in ("set", "dict", "iterator")):
            return ordered(f, node, name, [xs], {})
        return extremum(f, node, xs, name)
    if not args:
        return None
    if all(k for k, _ in facts):
        return _of_constants(f, node, name, [v for _, v in facts])
    return _nary(f, node, name, args)


def _of_parts(f: Frame, node: ast.Call, name: str, items: list[Value]) -> Value | None:
    """`max(xs)` and `min(xs)` of a tuple, or of a constant list."""
    if any(map(nothing_known, items)):
        return unknown()
    return items[0] if len(items) == 1 else _extreme(f, node, name, items)


def _of_constants(f: Frame, node: ast.Call, name: str, constants: list[Any]) -> Value:
    try:
        return Static({"min": min, "max": max}[name](constants))
    except TypeError as error:
        return f.problem(node, str(error))


def _of_spread(f: Frame, name: str, args: list[Value]) -> Value:
    """`max(a, *xs)`, `max(*xs)`: a list of run-time length among the arguments, which must be two at least. Raises Refused."""
    spread = [a for a in args if is_spread(a)]
    numbers = [a for a in args if not is_spread(a)]
    xs: Value = spread[0].value
    if is_unknown(xs) or any(map(is_unknown, numbers)):
        return unknown()
    types = [item_type(xs), *map(type_or_none, numbers)]
    if len(spread) > 1 or any(t not in (INT, FLOAT) for t in types):
        raise Refused(f"`{name}` with a list of run-time length after `*` takes numbers and one such list", "make one list")
    at = args.index(spread[0])
    if at == 0 and len(numbers) > 1:
        raise Refused(f"`{name}` takes a list of run-time length with `*` after a number here", "write it last")
    t = FLOAT if FLOAT in types else INT

    def better(a: Value, b: Value) -> Value:
        return f.host(name, [a, b], t)

    xs, numbers = f.coerce(xs, ListT(t)), [f.coerce(a, t) for a in numbers]
    first = numbers[:at]
    for _ in range(2 - len(numbers)):  # an element that is not there is an error of the instance
        xs, element = head(f, xs)
        first.append(element)
    return functools.reduce(better, numbers[at:], fold(f, xs, functools.reduce(better, first), better))


def extreme_or(f: Frame, node: ast.Call, name: str, xs: Value, default: Value) -> Value:
    """`max(xs, default=...)` and `min(xs, default=...)`: the default if the list is empty."""
    items = as_list(f, node, iterable(f, xs))
    if is_never_filled(type_or_none(items)):
        return default
    if nothing_known(items) or is_unknown(items) or nothing_known(default):
        return guess(type_of(default)) if is_number(default) else unknown()  # in a recursion what it gives of an empty list

    def extreme() -> Value:
        best = _extreme(f, node, name, [items])
        return unknown() if best is None else best

    return _or_default(f, node, items, default, extreme)


def _or_default(f: Frame, node: ast.Call, items: Value, default: Value, of_items: Arm) -> Value:
    """`of_items()`, or the default if the list is empty."""
    return choose(f, node, f.host("gt", [length_of(f, node, items), Static(0)], BOOL), of_items, lambda: default)


def _keys(f: Frame, node: ast.Call, items: Value, key: Value) -> Value:
    """The keys by which items are put in order. Python computes them all at first, one after the other, so a function of the
    source that changes a dictionary, say, in which it remembers them, may be called as in a comprehension."""
    try:
        return mapped(f, [items], lambda x: called(f, node, key, [x], {}))
    except Refused:
        written = next((k.value for k in node.keywords if k.arg == "key"), None)
        if not isinstance(written, (ast.Name, ast.Attribute)):
            raise
    names = {"x": hidden("item", node), "key": written, "items": CompiledNode(items)}  # type: ignore[arg-type]
    return f.expression(quoted_expression(node, "[key(x) for x in items]", **names))


def ordered(f: Frame, node: ast.Call, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`sorted` of a list, and `max` and `min` of one of strings or tuples, or with a `key`. What is compared is
    numbers, strings, or tuples of these."""
    args = [containers.as_set(f, node, a) for a in args]
    of_set = bool(args) and containers.kind_of(args[0]) == "set"
    if args and containers.kind_of(args[0]):
        args = [containers.elements(f, args[0]), *args[1:]]  # type: ignore[arg-type]
    if name in ("min", "max") and "default" in kwargs:
        default = kwargs["default"]
        rest = {k: v for k, v in kwargs.items() if k != "default"}
        whole = as_list(f, node, iterable(f, args[0]))
        if nothing_known(whole) or is_unknown(whole):
            return unknown()
        walked = containers.of_kind(whole, SET) if of_set else whole
        return _or_default(f, node, whole, default, lambda: ordered(f, node, name, [walked], rest))
    if name in ("min", "max") and (len(args) > 1 or any(map(is_spread, args))):
        args = [_several(f, node, args)]
    xs, key, reverse = CallArguments(name, args, kwargs).bind(
        "iterable", "key", "reverse", key=Static(None), reverse=Static(False)
    )
    items = iterable(f, xs)
    if is_unknown(items) or nothing_known(items):
        return guess(type_of(items)) if name == "sorted" and not nothing_known(items) else unknown()
    if items == TupleV(()):
        return list_of(f, node, []) if name == "sorted" else fail(f, f"ValueError: `{name}` of an empty list")
    items = as_list(f, node, items)
    if isinstance(items, TupleV):  # constants, such as named tuples with tuples of several lengths in them
        items = as_list(f, node, f.staged(items))
    if isinstance(items, TupleV):
        raise Refused(f"`{name}` takes values of one type here, not {f.places(list(items.items))}")
    keys: Value = items
    if key != Static(None):
        keys = _keys(f, node, items, key)
    keys = _of_numbers(f, opened_inside(f, node, keys))
    if is_unknown(items):
        return unknown()
    if is_unknown(keys):  # what is found has the type of the elements whatever the keys are
        f.program.incomplete = True
        return guess(type_of(items) if name == "sorted" else item_type(items))
    if not has_order(f, type_of(keys).item):
        what = f"`{name}` compares numbers, strings, tuples and lists of these, and objects with `__lt__`"
        return f.problem(node, f"{what}, not {describe(type_of(keys).item)}")
    if of_set and key != Static(None):  # of equal keys Python takes the first in the order of the set
        check = {"sorted": sorting.all_differ, "max": sorting.one_best, "min": sorting.one_least}[name]
        harmless = default_of_ties(f, node) if name == "min" else None
        if harmless is not None:
            items = f.program.call(f, node, sorting.one_least_but, [items, keys, Static(harmless)], {})
        else:
            items = f.program.call(f, node, check, [items, keys], {})
        if is_unknown(items):
            return unknown()
    if name == "sorted":
        of_numbers = isinstance(type_of(keys).item, ScalarT)
        by = sorting.sorted_list if of_numbers else sorting.sorted_by_comparing
        return f.call_with(by, [items, keys, reverse], node)  # `xs.sort()` names no argument: nothing keeps the list
    return f.program.call(f, node, sorting.best if name == "max" else sorting.least, [items, keys], {})


def _of_numbers(f: Frame, keys: Value) -> Value:
    """The keys by which a list is ordered, with one-element tensors replaced by numbers, for which the instance waits."""

    def number(key: Value) -> Value:
        if isinstance(type_or_none(key), TupleT):
            return TupleV(tuple(map(number, f.components(key) or ())))
        return NUMBERS["tensor"](f, key) if is_tensor(key) and type_of(key).size == 1 else key

    item = getattr(type_or_none(keys), "item", None)
    inside = item.items if isinstance(item, TupleT) else (item,)
    if is_unknown(keys) or not any(isinstance(t, TensorT) and t.size == 1 for t in inside):
        return keys
    return mapped(f, [keys], number)


def _several(f: Frame, node: ast.Call, args: list[Value]) -> Value:
    """The arguments `a, b, *xs` of `max` and `min` as a list. Raises Refused."""
    if not any(map(is_spread, args)):
        return list_of(f, node, args)
    parts = [a.value if is_spread(a) else list_of(f, node, [a]) for a in args]
    whole = functools.reduce(lambda a, b: binary(f, node, ast.Add(), a, b), parts)
    return unknown() if is_unknown(whole) else f.program.call(f, node, iteration.at_least_two, [whole], {})


def _nary(f: Frame, node: ast.AST, name: str, args: list[Value]) -> Value:
    """`min(a, b, ...)` and `max(a, b, ...)` of numbers: a bool if all are, a float if one of them is, else an int."""
    kinds = {type_or_none(a) for a in args} - {BOOL}
    if any(not isinstance(k, ScalarT) for k in kinds):
        if len(kinds) == 1 and has_order(f, next(iter(kinds))):
            return ordered(f, node, name, [list_of(f, node, args)], {})  # type: ignore[arg-type]
        if all(map(is_tuple_type, kinds)) and is_list(whole := list_of(f, node, args)):
            if has_order(f, item_type(whole)) and not any(_becomes_float(t, item_type(whole)) for t in kinds):
                return ordered(f, node, name, [whole], {})  # type: ignore[arg-type]
        wrong = next(a for a in args if not is_number(a))
        if is_tensor(wrong):
            return f.problem(node, f"`{name}` of tensors is not in the language", f"write torch.{name}imum(a, b)")
        return f.problem(node, f"`{name}` takes numbers, not {describe(type_or_none(wrong))}")
    if not kinds:  # all are bools
        result: Value = args[0]
        for a in args[1:]:
            result = f.host("bool", [f.host(name, [as_int(f, result), as_int(f, a)], INT)], BOOL, name)
        return result
    kind = FLOAT if FLOAT in kinds else INT
    if len(kinds) > 1 and (f.each_type or f.program.datatypes.tells_numbers_apart):  # it is one of them, an int or a float
        better = ast.Lt() if name == "min" else ast.Gt()
        return functools.reduce(partial(_the_better, f, node, better), map(partial(as_int, f), args))
    result = f.coerce(as_int(f, args[0]), kind)
    for a in args[1:]:
        result = f.host(name, [result, f.coerce(as_int(f, a), kind)], kind)
    return result


def _becomes_float(have: Any, wanted: Any) -> bool:
    """Whether an int in a tuple of the type `have` is a float in one of the type `wanted`."""
    if isinstance(have, TupleT) and isinstance(wanted, TupleT):
        return any(map(_becomes_float, have.items, wanted.items))
    return bool(have == INT and wanted == FLOAT)


def _the_better(f: Frame, node: ast.AST, better: ast.cmpop, a: Value, b: Value) -> Value:
    """`b` if it is better than `a`, else `a`: of an int and a float the one or the other, as it is."""
    is_better = comparison(f, node, better, b, a)
    if isinstance(is_better, Static):
        return b if is_better.value else a
    arms = [lambda: b, lambda: a]
    return one_of(
        f,
        node,
        arms,
        lambda type, bodies: n.If(f.atom(is_better), bodies[0], bodies[1], type, span=f.span),
        is_unknown(is_better),
        apart=True,
    )
