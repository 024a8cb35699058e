"""Sums and extrema of lists, as folds."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

from backends.acrobat.core.types import BOOL, FLOAT, INT, SET, DataT, ListT, ScalarT, TensorT, is_tensor_word
from backends.acrobat.frontend.described import describe, plural
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, by_type, mixed, of_tensors
from backends.acrobat.frontend.evaluator.choices.nones import opened_inside
from backends.acrobat.frontend.evaluator.choices.returned import number_or_tensor
from backends.acrobat.frontend.evaluator.containers.containers import as_set, in_any_order
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.joined_tuples import of_any_length
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, fold, head, mapped
from backends.acrobat.frontend.evaluator.lists.walking import iterable
from backends.acrobat.frontend.evaluator.scalars.operators import as_int, binary
from backends.acrobat.frontend.evaluator.tables import ADDITIONS
from backends.acrobat.frontend.kinds import (
    as_tuple,
    is_list,
    is_number,
    is_unknown,
    known,
    nothing_known,
    type_of,
    type_or_none,
)
from backends.acrobat.frontend.types import NONE, is_tuple_type
from backends.acrobat.frontend.values import Static, TupleV, Value, guess, unknown
from backends.acrobat.ir.make import make_op

ADDITIONS += [operator.add]


def total(f: Frame, node: ast.Call, function: Any) -> Value | None:
    """`sum(xs[, start])` and `functools.reduce(torch.add, xs[, start])`; None for `reduce` by another function."""
    name = "sum" if function is sum else "reduce"
    args = list(node.args)
    if function is functools.reduce:
        operation = f.expression(args.pop(0)) if args else Static(None)
        if not (isinstance(operation, Static) and any(operation.value is each for each in ADDITIONS)):
            return None
    if not 1 <= len(args) + len(node.keywords) <= 2 or not args or any(k.arg != "start" for k in node.keywords):
        return f.problem(node, f"`{name}` takes a list and a start here")
    xs = as_set(f, node, f.borrowed(args[0]))
    if type_or_none(xs) == ListT(INT, kind=SET):  # a sum of floats depends on the order
        xs = in_any_order(f, node, xs)
    xs = iterable(f, xs)
    start: Value | None = f.expression(args[1]) if len(args) == 2 else None
    for k in node.keywords:
        start = f.expression(k.value)
    start = None if start is None else f.as_object(as_int(f, start) if name == "sum" else start)
    xs = opened_inside(f, node, xs)
    if "object" not in f.mixed(getattr(type_or_none(xs), "item", None)):  # which may have an `__add__`
        xs = of_tensors(f, xs)

    def add(a: Value, b: Value) -> Value:
        return binary(f, node, ast.Add(), a, b)

    if isinstance(xs, TupleV):
        return _of_parts(f, name, xs, start, add)
    return _of_list(f, node, name, xs, start, add)


def _of_list(
    f: Frame, node: ast.Call, name: str, xs: Value, start: Value | None, add: Callable[[Value, Value], Value]
) -> Value:
    """As `total`, of a list."""
    if start is not None and nothing_known(start):
        return unknown()
    if is_unknown(xs):
        if start is None and name == "reduce":
            return unknown()  # of no element `reduce` gives nothing
        return guess(INT if start is None else type_of(start))  # that of no element; tensors cover numbers in a later round
    t = type_of(xs).item
    if t == NONE:  # so far: `states = [None] * n`, of which later statements give items
        f.program.incomplete = True
        return unknown() if start is None else guess(type_of(start))
    if isinstance(t, ScalarT):
        t = FLOAT if t == FLOAT or (start is not None and type_of(start) == FLOAT) else INT
        if type_of(xs).item == BOOL and start is None and name == "reduce":
            return f.problem(node, "`reduce` of bools gives a bool if there is one only", "give it a start")
        if start is None and name == "reduce":
            return fold(f, *head(f, xs), add)
        if type_of(xs).item != t:  # bools are added as ints, ints to a float as floats
            number = "int" if t == INT else "float"
            xs = mapped(f, [xs], lambda v: f.host(number, [v], t))
        return fold(f, xs, f.coerce(Static(0) if start is None else start, t), add)
    if start is not None and is_tuple_type(type_of(start)) and is_tuple_type(t):
        return add(start, as_tuple(flattened(f, f.coerce(xs, ListT(of_any_length(f, t))))))
    if start is not None and is_list(start) and isinstance(t, ListT) and t.rows is None:
        return add(start, flattened(f, xs))
    words = f.mixed(t).keys()
    if not words.isdisjoint(NUMBERS) and (_is_number_or_tensor(f, t) or not any(map(is_tensor_word, words))):
        return _of_mixed(f, node, name, xs, Static(0) if start is None and name == "sum" else start)
    if isinstance(t, DataT) and not f.mixed(t):  # objects with `__add__`
        others, first = head(f, xs) if start is None else (xs, start)
        return fold(f, others, add(Static(0), first) if start is None and name == "sum" else first, add)
    if not isinstance(t, TensorT) and not (isinstance(t, ListT) and t.rows is not None):
        return f.problem(node, f"`{name}` adds tensors or numbers, not {describe(t)}")
    if start is None or (_is_zero(start) and name == "sum"):
        if name == "sum" and isinstance(t, TensorT) and t.dtype == "float32":  # of no tensor the number 0, as a tensor
            if f.program.datatypes.exact:
                return _of_mixed(f, node, name, xs, Static(0))
            f.program.datatypes.note_number_as_tensor()
            zeros = f.bind(make_op("full", (), {"shape": t.shape, "value": 0.0}, f.span), "zeros")
            f.program.noted.note_number(f.builder, zeros)
            return fold(f, xs, zeros, add)
        return fold(f, *head(f, xs), add)
    if type_of(start) != t:
        return f.problem(
            node, f"`{name}` of {plural(t)} starts with {describe(type_of(start))}", "start with torch.zeros of that shape"
        )
    return fold(f, xs, start, add)


def _of_mixed(f: Frame, node: ast.Call, name: str, xs: Value, start: Value | None) -> Value:
    """As `total`, of a list in which there are ints, floats and values of other types: the sum is an int as long as all of them
    are ints, and a tensor from the first tensor on. Values of yet other types are an error of the instance."""
    t = type_of(xs).item
    if start is None:
        xs, start = head(f, xs)
    if not f.mixed(type_or_none(start)) and not is_number(start):
        return f.problem(node, f"`{name}` of numbers starts with {describe(type_or_none(start))}", "start with a number")
    total_type, with_tensors = _type_of_mixed(f, t, type_of(start)), _is_number_or_tensor(f, t, type_of(start))

    def each(value: Value, work: Callable[[Value], Value]) -> Value:
        def of_one(_: str, inner: Value) -> Value:
            if is_number(inner) or with_tensors:
                return work(as_int(f, inner))
            text = f"TypeError: unsupported operand types for +: a number and {describe(type_or_none(inner))}"
            return fail(f, text.replace("{", "{{").replace("}", "}}"))

        return by_type(f, node, value, of_one) if mixed(f, value) else work(as_int(f, value))  # type: ignore[arg-type]

    def add(a: Value, b: Value) -> Value:
        return each(a, lambda x: each(b, lambda y: f.coerce(binary(f, node, ast.Add(), x, y), total_type)))

    return fold(f, xs, each(start, lambda x: f.coerce(x, total_type)), add)


def _is_number_or_tensor(f: Frame, *types: Any) -> bool:
    """Whether values of these types are numbers or tensors of one kind, and nothing else."""
    return "tensor" in f.program.datatypes.number_or_tensor(types)


def _type_of_mixed(f: Frame, item: Any, start: Any) -> Any:
    """The type of a sum of such a list, which has a start of type `start`."""
    if _is_number_or_tensor(f, item, start):
        parts = (part for t in (item, start) for part in f.mixed(t).values() or [t])
        return number_or_tensor(f, [INT if t == BOOL else t for t in parts])
    if start == FLOAT or "float" not in f.mixed(item):
        return start if start == FLOAT else INT
    return f.program.datatypes.numbers_apart((INT, FLOAT))


def _of_parts(f: Frame, name: str, xs: TupleV, start: Value | None, add: Callable[[Value, Value], Value]) -> Value:
    """As `total`, of a tuple."""
    items = [*([start] if start is not None and not (name == "sum" and _adds_nothing(start, xs)) else []), *xs.items]
    if name == "sum" and items and type_or_none(items[0]) in (BOOL, FLOAT):
        items = [Static(0), *items]  # the sum of one bool is an int, that of -0.0 is 0.0
    if not items and start is None and name == "reduce":
        return fail(f, "TypeError: `reduce` of an empty list has no value without a start")
    if not items:
        return start if start is not None else Static(0)
    return functools.reduce(add, items)


def _adds_nothing(start: Value, xs: TupleV) -> bool:
    """Whether a `sum` is the same without its start: 0, or 0.0 before tensors."""
    return _is_zero(start) and (type_of(start) == INT or not all(map(is_number, xs.items)))


def _is_zero(start: Value) -> bool:
    return type(known(start)[1]) in (int, float) and known(start)[1] == 0


def extremum(f: Frame, node: ast.AST, xs: Value, name: str) -> Value:
    """`max(xs)` and `min(xs)` of a list of numbers."""
    items = iterable(f, xs)
    if items == TupleV(()):
        return fail(f, f"ValueError: `{name}` of an empty list")
    if isinstance(items, TupleV) or is_unknown(items):
        return unknown() if is_unknown(items) else f.problem(node, f"`{name}` takes numbers or a list of them here")
    if type_of(items).item not in (INT, FLOAT):
        return f.problem(node, f"`{name}` takes numbers, not {describe(type_of(items).item)}")
    t = type_of(items).item
    return fold(f, *head(f, items), lambda a, b: f.host(name, [a, b], t))
