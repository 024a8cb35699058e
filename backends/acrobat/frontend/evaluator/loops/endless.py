"""`itertools.count`, `cycle` and `repeat`: iterators without an end, as long as what they are used with."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lists import as_list
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.scalars.operators import binary
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import is_unknown, nothing_known, type_or_none
from backends.acrobat.frontend.specials import Endless
from backends.acrobat.frontend.types import is_never_filled
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, unknown
from backends.acrobat.library import iteration


def is_endless(value: Value) -> bool:
    return isinstance(value, Held) and isinstance(value.value, Endless)


def _endless(of_number: Callable[[int], Value], of_value: Callable[[Value], Value]) -> Held:
    """An iterator whose first items `of_number` gives as a tuple, and `of_value` as a list of the program."""
    return Held("iterator", Endless(lambda count: of_number(count) if isinstance(count, int) else of_value(count)))


@handles(FUNCTIONS, itertools.count)
def _count(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    start, step = CallArguments("count", args, kwargs).bind("start", "step", start=Static(0), step=Static(1))
    if nothing_known(start) or nothing_known(step):
        return unknown()
    if type_or_none(start) != INT or type_or_none(step) != INT:
        raise Refused("`count` takes ints here")

    def item(i: Value) -> Value:
        return binary(f, node, ast.Add(), start, binary(f, node, ast.Mult(), i, step))

    def of_value(count: Value) -> Value:
        return mapped(f, [_numbers(f, count)], item, "i")

    return _endless(lambda count: TupleV(tuple(item(Static(i)) for i in range(count))), of_value)


def _numbers(f: Frame, count: Value) -> Any:
    return f.host("range", [Static(0), count, Static(1)], ListT(INT))


@handles(FUNCTIONS, itertools.repeat)
def _repeat(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    item, times = CallArguments("repeat", args, kwargs).bind("object", "times", times=Static(None))
    if nothing_known(item):
        return unknown()

    def of_value(count: Value) -> Value:
        return mapped(f, [_numbers(f, count)], lambda _: item, "i")

    if times != Static(None):
        return Held("iterator", of_value(times))
    return _endless(lambda count: TupleV((item,) * count), of_value)


@handles(FUNCTIONS, itertools.cycle)
def _cycle(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (xs,) = CallArguments("cycle", args, kwargs).bind("iterable")
    whole = iterable(f, xs)
    if is_unknown(whole):
        return unknown()
    if isinstance(whole, TupleV) and not whole.items or is_never_filled(type_or_none(whole)):
        return Held("iterator", TupleV(()))

    def of_number(count: int) -> Value:
        if isinstance(whole, TupleV):
            return TupleV(tuple(whole.items[i % len(whole.items)] for i in range(count)))
        return of_value(Static(count))

    def of_value(count: Value) -> Value:
        return f.call_with(iteration.cycled, [as_list(f, node, whole), count], node)

    return _endless(of_number, of_value)
