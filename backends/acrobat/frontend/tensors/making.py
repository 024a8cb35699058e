"""Operations that make tensors, from shapes or from Python's numbers, that change their dtype, and that read their values."""

from __future__ import annotations

import ast
import math
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.choice import choose
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import item_type, list_of, mapped
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.tensors.ints import arranged, elements, extents_of, is_ints, with_dimension
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    dtype_of,
    elementwise,
    item,
    numbers,
    numbers_in,
    of_rows,
    op,
    operand,
    over_rows,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Static,
    TupleV,
    Value,
    guess,
    is_list,
    is_number,
    is_ragged,
    is_tensor,
    known,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    unknown,
    variable_of,
)


def full_of(f: Frame, shape: Any, value: float) -> Dyn:
    """A tensor filled with a number. `shape` is an int or a tuple of ints, some of which may be known at run time only."""
    if isinstance(shape, Dyn) or isinstance(shape, TupleV) and not all(is_constant(v) for v in shape.items):
        entries = [shape] if isinstance(shape, Dyn) else list(shape.items)  # type: ignore[union-attr]
        return _full_ragged(f, entries, value)
    extent = constant(shape, "the shape")
    return op(f, "full", [], {"shape": (extent,) if isinstance(extent, int) else tuple(extent), "value": value}, "constant")


def _full_ragged(f: Frame, entries: list[Any], value: float) -> Dyn:
    """A tensor filled with a number; some of the extents in `entries` may be known at run time only."""
    k = next((i for i, e in enumerate(entries) if not is_constant(e)), None)
    if k is None:
        return full_of(f, TupleV(tuple(entries)), value)
    counts = f.host("range", [Static(0), entries[k], Static(1)], ListT(INT))
    rest = entries[:k] + entries[k + 1 :]
    return of_rows(mapped(f, [counts], lambda _: _full_ragged(f, rest, value), "i"), k)  # type: ignore[return-value]


def _filled(f: Frame, call: CallArguments, value: float) -> Value:
    if call.kwargs.get("dtype") in (Static(torch.bool), Static(torch.int64), Static(torch.long)):
        return _host_filled(f, call, value)
    _placement(call)
    if len(call.args) == 1:
        return full_of(f, f.static_list(call.args[0]), value)
    return full_of(f, TupleV(tuple(call.args)), value)


def _host_filled(f: Frame, call: CallArguments, value: Any) -> Value:
    """A tensor of ints, or a one-dimensional one of bools, filled with a number, which the program has as a list."""
    sizes = f.spread(call.args)
    of_bools = call.kwargs["dtype"] == Static(torch.bool)
    item: Value = value
    if isinstance(value, (int, float)):
        item = Static(bool(value)) if of_bools else Static(int(value))
    if not sizes and not of_bools:
        return Held("index", item)
    wider = [i for i, e in enumerate(sizes) if known(e) != (True, 1)] or [len(sizes) - 1]
    if len(wider) != 1 and of_bools:
        return Held("mask", full_of(f, TupleV(tuple(sizes)), value))
    if len(wider) != 1:
        raise Refused(f"`{call.name}` of ints or bools makes tensors of one dimension here, and others of extent 1")
    counts = f.host("range", [Static(0), sizes[wider[0]], Static(1)], ListT(INT))
    flat = mapped(f, [counts], lambda _: item, "i")
    if of_bools:
        return numbers(flat, wider[0], len(sizes) - 1 - wider[0])
    return arranged(f, flat, [known(e)[1] if known(e)[0] else e for e in sizes])


def _placement(call: CallArguments) -> None:
    """Remove `dtype` and `device` from a call's arguments, since tensors are float32. Raises Refused for other dtypes."""
    dtype = call.kwargs.pop("dtype", Static(None))
    call.kwargs.pop("device", None)
    if dtype != Static(None) and constant(dtype, "dtype") in (torch.float16, torch.bfloat16, torch.float64):
        raise Refused(
            f"tensors are float32 here, not {str(constant(dtype, 'dtype')).removeprefix('torch.')}", "leave `dtype` out"
        )
    if dtype != Static(None) and not constant(dtype, "dtype").is_floating_point:
        raise Refused(f"`{call.name}` makes tensors of floats here")


# ---- the operations


@operation("zeros", of_tensor=False)
def _zeros(f: Frame, call: CallArguments) -> Value:
    return _filled(f, call, 0.0)


@operation("ones", of_tensor=False)
def _ones(f: Frame, call: CallArguments) -> Value:
    return _filled(f, call, 1.0)


@operation("full", of_tensor=False)
def _full(f: Frame, call: CallArguments) -> Value:
    dtype = call.kwargs.pop("dtype", Static(None))
    call.kwargs.pop("device", None)
    size, value = call.bind("size", "fill_value")
    if dtype == Static(None):
        dtype = Static({INT: torch.int64, BOOL: torch.bool}.get(type_or_none(value)))  # type: ignore[arg-type]
    if dtype in (Static(torch.int64), Static(torch.bool)):
        return _host_filled(f, CallArguments(call.name, [size], {"dtype": dtype}), value)
    _placement(CallArguments(call.name, [], {"dtype": dtype}))
    is_known, number = known(value)
    if is_known:
        return full_of(f, f.static_list(size), float(number))
    return op(f, "add", [full_of(f, f.static_list(size), 0.0), f.coerce(value, FLOAT)])


@operation("arange", of_tensor=False)
def _arange(f: Frame, call: CallArguments) -> Value:
    """`torch.arange` of ints, which the program has as a list of ints."""
    _placement(CallArguments(call.name, [], {k: v for k, v in call.kwargs.items() if k == "device"}))
    bounds = [v for v in call.args if v is not None]
    start, stop, step = ([Static(0), *bounds, Static(1)] if len(bounds) == 1 else [*bounds, Static(1)])[:3]
    if not all(is_number(v) and type_or_none(v) == INT for v in (start, stop, step)):
        raise Refused("`arange` takes ints here")
    return of_rows(f.host("range", [start, stop, step], ListT(INT)), 0)


@operation("linspace", of_tensor=False)
def _linspace(f: Frame, call: CallArguments) -> Dyn:
    _placement(call)
    start, end, steps = (constant(v, "an argument of `linspace`") for v in call.bind("start", "end", "steps"))
    last = max(steps - 1, 1)
    numbers = [op(f, "full", [], {"shape": (), "value": start + (end - start) * i / last}) for i in range(steps)]
    return op(f, "stack", numbers, {"dim": 0})


@operation("eye", of_tensor=False)
def _eye(f: Frame, call: CallArguments) -> Value:
    _placement(call)
    rows, columns = call.bind("n", "m", m=Static(None))
    columns = rows if columns == Static(None) else columns
    ones = full_of(f, TupleV((rows, columns)), 1.0)
    return triangle(f, triangle(f, ones, 0, True), 0, False)


def triangle(f: Frame, x: Any, diagonal: int, upper: bool) -> Any:
    """`torch.triu` (if `upper`) or `torch.tril` of a matrix or a batch of them. Raises Refused."""
    rank = len(shape(x))
    if rank < 2:
        raise Refused("a triangle is one of a matrix")
    if not is_ragged(x) or shape(x)[-1] is not None and shape(x)[-2] is not None:
        if is_ragged(x):
            return over_rows(f, x, axis(x), lambda part: triangle(f, part, diagonal, upper))
        rows, columns = shape_of(x)[-2:]
        lines = []
        for i in range(rows):
            line = op(f, "index", [x], {"dim": rank - 2, "i": i})
            at = min(max(i + diagonal + (not upper), 0), columns)
            kept = (at, columns) if upper else (0, at)
            parts = [
                op(f, "slice", [line], {"dim": rank - 2, "start": a, "stop": b})
                if (a, b) == kept
                else op(f, "full", [], {"shape": (*shape_of(line)[:-1], b - a), "value": 0.0})
                for a, b in ((0, at), (at, columns))
                if a < b
            ]
            lines.append(parts[0] if len(parts) == 1 else op(f, "cat", parts, {"dim": rank - 2}))
        return op(f, "stack", lines, {"dim": rank - 2})
    if rank != 2:
        raise Refused("a triangle of a batch of matrices whose extents vary is not in the language")
    matrix = as_rows(f, x, 0)
    pairs = f.host("enumerate", [matrix], ListT(TupleT((INT, item_type(matrix)))))

    def line_of(pair: Any) -> Any:
        i, line = f.components(pair) or (unknown(), unknown())
        entries = as_rows(f, line, 0)
        inner = f.host("enumerate", [entries], ListT(TupleT((INT, item_type(entries)))))

        def entry(other: Any) -> Value:
            j, value = f.components(other) or (unknown(), unknown())
            least = f.host("add", [i, Static(diagonal)], INT)
            kept = f.host("ge" if upper else "le", [j, least], BOOL)
            return choose(f, ast.Pass(), kept, lambda: value, lambda: full_of(f, Static(()), 0.0))

        return of_rows(mapped(f, [inner], entry, "entry"), 0)

    return of_rows(mapped(f, [pairs], line_of, "line"), 0)


@either("triu", "tril")
def _triangle(f: Frame, call: CallArguments) -> Value:
    x, diagonal = call.bind("input", "diagonal", diagonal=Static(0))
    at = constant(diagonal, "the diagonal")
    return triangle(f, x, at, call.name == "triu")  # type: ignore[no-any-return]


@either("full_like")
def _filled_like(f: Frame, call: CallArguments) -> Value:
    _placement(call)
    x, value = call.bind("input", "fill_value")
    is_known, number = known(value)
    if is_ints(x):
        have = extents_of(f, x)
        if all(isinstance(e, int) for e in have):
            return arranged(f, elements(f, Held("ids", TupleV((f.coerce(value, INT),) * math.prod(have)))), have)
        return elementwise(f, [x], lambda v: f.coerce(value, INT))
    found = elementwise(
        f, [x], lambda v: op(f, "full", [], {"shape": shape(v[0]), "value": float(number) if is_known else 0.0})
    )
    return found if is_known else op(f, "add", [found, f.coerce(value, FLOAT)])


@either("to", "type", "type_as")
def _to(f: Frame, call: CallArguments) -> Value:
    """`x.to(...)`, `x.type(...)` and `x.type_as(y)`: a device is ignored, a tensor stands for its dtype. For ints made of
    computed floats the instance waits; conversions to other floats are refused."""
    x: Any = call.args[0]
    if call.name == "type" and not call.args[1:]:
        raise Refused("`type` of a tensor without an argument is not in the language", "ask for `x.dtype`")
    for v in (*call.args[1:], *call.kwargs.values()):
        is_known, wanted = known(v)
        if not is_known:
            wanted = dtype_of(v)
        wanted = TENSOR_TYPES.get(wanted, wanted)
        if call.name == "type" and not isinstance(wanted, torch.dtype):
            raise Refused(f"`type` takes a dtype here, not {wanted!r}", "write `x.to(dtype)`")
        if not isinstance(wanted, torch.dtype) or wanted == dtype_of(x):
            continue
        if wanted in (torch.int64, torch.int32):
            x = call_operation(f, "long", CallArguments("long", [x], {}))
            continue
        if wanted != torch.float32:
            raise Refused(f"tensors are float32 here, not {str(wanted).removeprefix('torch.')}", "leave the conversion out")
        x = call_operation(f, "float", CallArguments("float", [x], {}))
    return x  # type: ignore[no-any-return]


TENSOR_TYPES: dict[Any, torch.dtype] = {torch.LongTensor: torch.int64, torch.FloatTensor: torch.float32}
TENSOR_TYPES |= {"torch.LongTensor": torch.int64, "torch.FloatTensor": torch.float32}
"""The types of tensors of older models, and their names, with the dtypes behind them."""
OTHER_FLOATS = {"half": "float16", "bfloat16": "bfloat16", "double": "float64"}


@either(*OTHER_FLOATS)
def _other_float(f: Frame, call: CallArguments) -> Value:
    raise Refused(f"tensors are float32 here, not {OTHER_FLOATS[call.name]}", "leave the conversion out")


@operation("zeros_like", "empty_like")
def _zeros_like(f: Frame, call: CallArguments) -> Dyn:
    return _full_like(f, call, 0.0)


@operation("ones_like")
def _ones_like(f: Frame, call: CallArguments) -> Dyn:
    return _full_like(f, call, 1.0)


def _full_like(f: Frame, call: CallArguments, value: float) -> Dyn:
    _placement(call)
    (x,) = call.bind("input")
    return full_of(f, Static(shape_of(x)), value)


@ragged("zeros_like", "empty_like", "ones_like")
def _like_ragged(f: Frame, c: CallArguments) -> Value | None:
    value = 1.0 if c.name == "ones_like" else 0.0
    if is_ints(c.args[0]) and "dtype" not in c.kwargs:
        return elementwise(f, c.args[:1], lambda v: Static(int(value)))
    return elementwise(f, c.args[:1], lambda v: op(f, "full", [], {"shape": shape(v[0]), "value": value}))


@operation("new", "new_empty", "new_zeros", of_tensor=False)
def _new_zeros(f: Frame, call: CallArguments) -> Value:
    return _filled(f, _new(call), 0.0)


def _new(call: CallArguments) -> CallArguments:
    """The call behind the tensor whose dtype the new one takes."""
    dtype = {"dtype": Static(torch.int64)} if is_ints(call.args[0]) else {}
    return CallArguments(call.name, call.args[1:], {**dtype, **call.kwargs})


@operation("new_ones", of_tensor=False)
def _new_ones(f: Frame, call: CallArguments) -> Value:
    return _filled(f, _new(call), 1.0)


@operation("new_full", of_tensor=False)
def _new_full(f: Frame, call: CallArguments) -> Value:
    return _full(f, _new(call))


@operation("new_tensor", of_tensor=False)
def _new_tensor(f: Frame, call: CallArguments) -> Value:
    """`x.new_tensor(data)`: of floats, unless `x` has ints."""
    made = _made_tensor(f, ast.Pass(), call.args[1:], call.kwargs, "")
    return made if is_ints(call.args[0]) else _as_floats(f, made)


@handles(FUNCTIONS, torch.tensor, torch.as_tensor, torch.LongTensor)
def _of_numbers(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`torch.tensor`, which makes ints floats if its `dtype` says so."""
    made = _made_tensor(f, node, args, kwargs, hint)
    return _as_floats(f, made) if kwargs.get("dtype") == Static(torch.float32) else made


@handles(FUNCTIONS, torch.FloatTensor)
def _float_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if args and is_number(args[0]):
        return f.problem(node, "`torch.FloatTensor` of a number makes a tensor that holds anything", "write `torch.zeros(n)`")
    return _as_floats(f, _made_tensor(f, node, args, kwargs, hint))


def _as_floats(f: Frame, made: Value) -> Value:
    """A tensor that `_made_tensor` has made, with floats in place of ints."""
    match made:
        case Held("index", number):
            return Dyn(operand(f, f.coerce(number, FLOAT)))
        case Held("ids", TupleV(items)):
            return _stacked(f, [f.coerce(v, FLOAT) for v in items])
    if is_ints(made) and not nothing_known(made):
        return call_operation(f, "float", CallArguments("float", [made], {}))
    return made


def _made_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """What `torch.tensor` makes without regard to a dtype: an int, or a list of ints written out, serves as an index only; a
    float gives a tensor without dimensions, a list written out a dense tensor, and any other list of numbers a ragged one."""
    kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
    if args and nothing_known(args[0]):
        return unknown()
    if len(args) != 1 or kwargs:
        return f.problem(node, "`torch.tensor` takes a number or a list of numbers here")
    (x,) = args
    if is_number(x) and type_of(x) in (INT, FLOAT):
        if type_of(x) == INT:
            return Held("index", x)
        is_known, value = known(x)
        if is_known:
            return op(f, "full", [], {"shape": (), "value": value}, "constant")
        return Dyn(operand(f, x))
    if is_ragged(x) or is_tensor(x) or isinstance(x, Held):
        return x
    items = f.display(x)
    if items is None and f.vectors.get(variable_of(x)):
        items = f.components(x, f.vectors[variable_of(x)])
    if items and all(f.display(v) is not None for v in items):
        rows = [_made_tensor(f, node, [v], {}, hint) for v in items]
        if all(is_tensor(v) for v in rows):
            return op(f, "stack", rows, {"dim": 0})
        if len(rows) == 1 and is_ints(rows[0]):
            return with_dimension(f, rows[0], 0)
    if items is not None and len(items) == 1 and is_list(items[0]) and type_of(items[0]).item == INT:
        return with_dimension(f, of_rows(items[0], 0), 0)
    if items is not None and items and all(is_number(v) for v in items):
        if all(type_of(v) == INT for v in items):
            return Held("ids", TupleV(tuple(items)))
        return _stacked(f, items)
    if is_list(x) and isinstance(type_of(x).item, TupleT) and set(type_of(x).item.items) == {INT}:  # pairs, such as edges
        row = ListT(INT, rows=0, extent=len(type_of(x).item.items))
        pairs = mapped(f, [x], lambda pair: retyped(list_of(f, node, f.components(pair) or []), row))  # type: ignore[list-item,arg-type]
        return of_rows(pairs, 0)
    if is_list(x) and isinstance(type_of(x).item, TupleT) and set(type_of(x).item.items) <= {INT, FLOAT}:  # points
        return of_rows(mapped(f, [x], lambda p: _stacked(f, f.components(p) or [])), 0)  # type: ignore[list-item]
    if is_list(x) and isinstance(type_of(x).item, ListT) and type_of(x).item.item in (INT, FLOAT):
        return of_rows(mapped(f, [x], lambda row: _made_tensor(f, node, [row], {}, hint)), 0)  # type: ignore[list-item]
    if is_list(x) and isinstance(type_of(x).item, ScalarT):
        t = type_of(x).item
        if t == FLOAT:
            return of_rows(mapped(f, [x], lambda v: Dyn(operand(f, v))), 0)  # type: ignore[list-item]
        return of_rows(x, 0)
    return f.problem(node, "`torch.tensor` takes a number or a list of numbers here", "make other tensors with torch.full")


def _stacked(f: Frame, items: list[Value]) -> Value:
    """The tensor of these numbers."""
    return op(f, "stack", [f.coerce(v, TensorT(())) for v in items], {"dim": 0})


@operation("item")
def _item(f: Frame, call: CallArguments) -> Dyn:
    (x,) = call.bind("input")
    return item(f, x, "value")


@operation("tolist")
def _tolist(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    shape = shape_of(x)
    if len(shape) != 1:
        raise Refused("`tolist` takes a tensor of one dimension here")
    return numbers_in(f, x)


@ragged("tolist")
def _tolist_ragged(f: Frame, c: CallArguments) -> Value | None:
    x: Any = c.args[0]
    if isinstance(item_type(x), ScalarT):
        return retyped(x, ListT(item_type(x)))
    if len(shape(x)) == 2 and is_ragged(guess(item_type(x))) and item_type(x).item == INT:
        return mapped(f, [x], lambda row: retyped(row, ListT(INT)))
    return mapped(f, [x], lambda row: item(f, row)) if len(shape(x)) == 1 else None
