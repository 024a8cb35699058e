"""Reductions: sums, extrema, means, along a dimension that is fixed or varies."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, INT, ListT, ScalarT, TupleT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, has_items, item_type, length
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.mapping import fold, head, mapped, transposed_lists
from backends.acrobat.frontend.kinds import is_array, is_ragged, is_tensor, is_unknown, known, retyped, type_or_none
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.ints import arithmetic, arranged, computed, elements, on_host_in_parts, with_dimension
from backends.acrobat.frontend.tensors.lifting import (
    axis,
    dim_of,
    elementwise,
    extent_of,
    item,
    numbers_in,
    of_rows,
    op,
    over_rows,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.operations import call_operation, operation, ragged
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import selection


def reduce(f: Frame, how: str, xs: Array) -> Value:
    """The sum, maximum or minimum of a list of tensors or numbers; `how` is "sum", "max", "min" or "highest". Of an empty list
    the sum is zero, the "highest" is minus infinity, and "max" and "min" are errors of the instance."""
    if is_unknown(xs):
        return unknown()
    t = item_type(xs)
    if isinstance(t, ListT):  # the items are ragged too: exchange the lists' levels, and reduce each inner list
        turned = transposed_lists(f, mapped(f, [xs], lambda row: retyped(row, ListT(item_type(row)))))
        return of_rows(mapped(f, [turned], lambda items: reduce(f, how, items)), t.rows or 0)
    name = {"sum": "add", "max": "maximum", "min": "minimum", "highest": "maximum"}[how]
    xs = retyped(xs, ListT(t))
    if isinstance(t, ScalarT):
        number = {"add": "add", "maximum": "max", "minimum": "min"}[name]
        if how == "sum":
            if t == BOOL:
                xs, t = mapped(f, [xs], lambda x: f.host("int", [x], INT)), INT
            return fold(f, xs, f.coerce(Static(0), t), lambda a, b: f.host(number, [a, b], t))
        return fold(f, *head(f, xs), lambda a, b: f.host(number, [a, b], t))
    if how in ("sum", "highest") and not has_items(f, xs):
        start = op(f, "full", [], {"shape": t.shape, "value": 0.0 if how == "sum" else -math.inf}, "start")
        return fold(f, xs, start, lambda a, b: op(f, name, [a, b]))
    return fold(f, *head(f, xs), lambda a, b: op(f, name, [a, b]))


def along(f: Frame, how: str, x: Array, dim: int, keep: bool) -> Value:
    """A reduction, or a softmax, along one dimension of a ragged tensor."""
    k = axis(x)
    if dim != k:
        shift = 0 if keep or dim > k or how in ("softmax", "log_softmax") else 1
        return over_rows(f, x, k - shift, lambda row: _number(along_any(f, how, row, dim - (dim > k), keep)))
    if how in ("softmax", "log_softmax"):
        return _softmax(f, how, x, dim)
    if how == "argmax":
        place = _argmax(f, x)
        if not keep or is_unknown(place):
            return place
        if len(shape(x)) > 1:
            return with_dimension(f, place, dim)
        return of_rows(list_of(f, ast.Pass(), [_number(place)]), 0)
    if how == "mean":
        total = reduce(f, "sum", x)
        result = elementwise(f, [total, length(f, x)], lambda v: op(f, "div", v))
    else:
        result = reduce(f, how, x)
    return move(f, result, "unsqueeze", dim) if keep else result


def _number(value: Value) -> Value:
    """The int inside a tensor of one int; other values as they are."""
    return value.value if isinstance(value, Held) and value.kind == "index" else value


def along_any(f: Frame, how: str, x: Array, dim: int, keep: bool) -> Value:
    """As `along`, for a tensor that may be dense."""
    if is_ragged(x):
        return along(f, how, x, dim, keep)
    if how in ("softmax", "log_softmax"):
        return call_operation(f, how, CallArguments(how, [x, Static(dim)], {}))
    if how == "min":
        negated = op(f, "max", [op(f, "neg", [x])], {"dim": dim, "keepdim": keep})
        return op(f, "neg", [negated])
    return op(f, how, [x], {"dim": dim, "keepdim": keep})


def _softmax(f: Frame, how: str, x: Array, dim: int) -> Value:
    """The softmax or log-softmax along the varying dimension. Over an empty one it is empty, as in PyTorch."""

    def each(name: str, *operands: Value) -> Value:
        return elementwise(f, operands, lambda v: op(f, name, v))

    highest = move(f, reduce(f, "highest", x), "unsqueeze", dim)
    shifted = each("sub", x, highest)
    powers = each("exp", shifted)
    total = along(f, "sum", powers, dim, True)
    return each("div", powers, total) if how == "softmax" else each("sub", shifted, each("log", total))


def _argmax(f: Frame, x: Array) -> Any:
    """The index of the highest of a list of scores, the first of equal ones. The instance waits for the scores."""
    row = shape(x)[1:] if axis(x) == 0 else tuple(e for i, e in enumerate(shape(x)) if i != axis(x))
    if row and all(e is None for e in row[:1]) and isinstance(item_type(x), ListT):
        turned = transposed_lists(f, mapped(f, [x], lambda part: retyped(part, ListT(item_type(part)))))
        return of_rows(mapped(f, [turned], lambda scores: _number(_argmax(f, of_rows(scores, 0)))), 0)
    if any(e != 1 for e in row):
        return _argmax_of_columns(f, x, row)
    numbers = x if isinstance(item_type(x), ScalarT) else mapped(f, [x], lambda score: item(f, score))
    numbers = retyped(numbers, ListT(item_type(numbers)))
    pairs = f.host("enumerate", [numbers], ListT(TupleT((INT, item_type(numbers)))))
    each, best, where = f.var("item", item_type(pairs)), f.var("best", item_type(numbers)), f.var("where", INT)
    first = f.host("list.get", [numbers, Static(0)], item_type(numbers), "first")
    state = TupleT((item_type(numbers), INT))
    with f.branch() as b:
        i, score = f.components(Dyn(each)) or (unknown(), unknown())
        higher = f.host("gt", [score, Dyn(best)], BOOL, "higher")
        then = f.bind(n.Tuple((f.atom(score), f.atom(i)), state, span=f.span), "next")
        with f.branch() as yes:
            replaced = yes.finish(then.atom)
        with f.branch() as no:
            as_before = no.finish(f.bind(n.Tuple((best, where), state, span=f.span), "same").atom)
        chosen = f.bind(n.If(f.atom(higher), replaced, as_before, state, span=f.span), "choice")
        body = b.finish(chosen.atom)
    folded = f.bind(
        n.Fold(each, f.atom(pairs), (best, where), (f.atom(first), n.Lit(0, INT)), body, state, span=f.span), "highest"
    )
    place = Held("index", f.bind(n.Field(folded.atom, 1, INT, span=f.span), "argmax"))
    return arranged(f, elements(f, place), list(row)) if row else place


def _argmax_of_columns(f: Frame, x: Array, row: tuple[int | None, ...]) -> Value:
    """As `_argmax`, of parts that all have the shape `row`: the index of the highest for each place in them. The instance waits
    for all scores."""
    if None in row:
        raise Refused("`argmax` along an extent that varies takes parts of a fixed shape, or of one dimension, here")
    size = (math.prod(e or 0 for e in row),)
    parts = retyped(x, ListT(item_type(x)))
    scores = mapped(f, [parts], lambda part: numbers_in(f, op(f, "reshape", [part], {"shape": size})))
    places = f.call_with(selection.highest_places, [scores])
    return arranged(f, places, list(row))


def _reduced(f: Frame, how: str, x: Array, dim: Any, keep: bool) -> Value:
    if dim is None or dim == Static(None):
        if isinstance(x.type, ListT) and isinstance(item_type(x), ScalarT) and how != "argmax":
            return reduce(f, how, x)
        if how == "argmax" and all(e in (1, None) for e in shape(x)) and shape(x).count(None) == 1:
            for d in reversed([d for d, e in enumerate(shape(x)) if e == 1]):
                x = move(f, x, "squeeze", d)
            return _argmax(f, x)
        if how == "argmax":
            whole = call_operation(f, "flatten", CallArguments("flatten", [x], {}))
            return whole if is_unknown(whole) else _argmax(f, whole)
        if how == "mean":
            total = _reduced(f, "sum", x, dim, False)
            count: Value = Static(1)
            for e in range(len(shape(x))):
                count = f.host("mul", [count, extent_of(f, x, e)], INT)
            return op(f, "div", [total, count])
        inner = mapped(f, [x], lambda row: _reduced_dense(f, how, row))
        return reduce(f, how, inner)
    result: Value = x
    for d in _dims(f, dim, len(shape(x)), how):
        result = along_any(f, how, result, d, keep)
    return result


def _reduced_dense(f: Frame, how: str, row: Value) -> Value:
    if is_ragged(row):
        return _reduced(f, how, row, None, False)
    flat = op(f, "reshape", [row], {"shape": (math.prod(e or 1 for e in shape(row)),)})
    return along_any(f, how, flat, 0, False)


# ---- the operations


def _ints_too(handler: Callable[[Frame, CallArguments], Any]) -> Callable[[Frame, CallArguments], Any]:
    """The handler of a reduction for computed tensors of ints too, for which the instance waits."""

    def work(f: Frame, call: CallArguments) -> Any:
        x: Any = call.args[0] if call.args else None
        dim, keep = (call.args[i] if i < len(call.args) else call.kwargs.get(k) for i, k in ((1, "dim"), (2, "keepdim")))
        if keep is not None and isinstance(d := None if dim is None else known(dim)[1], int) and dtype_of(x) == torch.int64:
            result = call_operation(f, call.name, CallArguments(call.name, [x, Static(d)], {}))
            at = dim_of(Static(d), len(shape(x)), call.name)
            return _with_dimension(f, result, at) if constant(keep, "keepdim") else result
        if not computed(x) or len(call.args) > 1 and is_array(call.args[1]):
            return handler(f, call)
        assert isinstance(x, Dyn)
        if not shape(x):
            raise Refused(f"`{call.name}` of a tensor of one int without dimensions is not in the language", "leave it out")
        result = call_operation(f, call.name, CallArguments(call.name, [on_host_in_parts(f, x), *call.args[1:]], call.kwargs))
        return TupleV(tuple(map(_as_tensor, result.items))) if isinstance(result, TupleV) else _as_tensor(result)

    return work


def _with_dimension(f: Frame, value: Value, dim: int) -> Value:
    """A tensor of ints, or each of a tuple of such, with a further dimension of extent 1."""
    if isinstance(value, TupleV):
        return TupleV(tuple(_with_dimension(f, v, dim) for v in value.items))
    return call_operation(f, "unsqueeze", CallArguments("unsqueeze", [value, Static(dim)], {}))


def _as_tensor(value: Value) -> Value:
    return Held("index", value) if type_or_none(value) == INT else value


def _dense(f: Frame, call: CallArguments, how: str) -> Dyn:
    x, dim, keepdim = call.bind("input", "dim", "keepdim", dim=None, keepdim=Static(False))
    keep = bool(constant(keepdim, "keepdim"))
    if dim is None or dim == Static(None):
        fresh = set(f.builder.fresh)
        x = op(f, "reshape", [x], {"shape": (math.prod(shape_of(x)),)})
        f.builder.fresh = fresh  # the model cannot see this view
        return op(f, how, [x], {"dim": 0, "keepdim": False})
    for d in _dims(f, dim, len(shape_of(x)), how):
        x = op(f, how, [x], {"dim": d, "keepdim": keep})
    return x


def _dims(f: Frame, dim: Any, rank: int, how: str) -> list[int]:
    """The dimensions that `dim`, an int or a tuple of them, names: the last first, since taking one moves those after it."""
    dim = f.static_list(dim)
    several = constant(dim, f"the dimension of `{how}`")
    if not isinstance(several, (tuple, list)) or how == "argmax":
        return [dim_of(dim, rank, how)]
    dims = [dim_of(Static(d), rank, how) for d in several]
    if len({*dims}) < len(dims) or not dims:
        raise Refused(f"`{how}`: the dimensions {tuple(several)} are not different ones")
    return sorted(dims, reverse=True)


for _name, _how in {"sum": "sum", "mean": "mean", "argmax": "argmax", "amax": "max"}.items():
    operation(_name)(_ints_too(partial(_dense, how=_how)))


@operation("amin")
@_ints_too
def _amin(f: Frame, call: CallArguments) -> Dyn:
    x, *rest = call.args
    return op(f, "neg", [_dense(f, CallArguments("amin", [op(f, "neg", [x]), *rest], call.kwargs), "max")])


@operation("min")
@_ints_too
def _min(f: Frame, call: CallArguments) -> Value:
    if len(call.args) == 2 and is_tensor(call.args[1]):
        return op(f, "minimum", call.args)
    x, *rest = call.args
    negated = CallArguments("min", [op(f, "neg", [x]), *rest], call.kwargs)
    if len(call.args) == 1 and not call.kwargs:
        return op(f, "neg", [_dense(f, negated, "max")])
    return TupleV((op(f, "neg", [_dense(f, negated, "max")]), _dense(f, negated, "argmax")))


@operation("max")
@_ints_too
def _max(f: Frame, call: CallArguments) -> Value:
    if len(call.args) == 2 and is_tensor(call.args[1]):
        return op(f, "maximum", call.args)
    if len(call.args) == 1 and not call.kwargs:
        return _dense(f, call, "max")
    return TupleV((_dense(f, call, "max"), _dense(f, call, "argmax")))


@ragged("sum", "mean", "amax", "amin", "argmax")
@_ints_too
def _reduced_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim, keepdim = c.bind("input", "dim", "keepdim", dim=Static(None), keepdim=Static(False))
    keep, how = bool(constant(keepdim, "keepdim")), {"amax": "max", "amin": "min"}.get(c.name, c.name)
    return _reduced(f, how, v, dim, keep)


@ragged("max", "min")
@_ints_too
def _extreme_ragged(f: Frame, c: CallArguments) -> Value | None:
    if len(c.args) == 1 and not c.kwargs:
        return _reduced(f, c.name, c.args[0], Static(None), False)
    if len(c.args) == 2 and (is_ragged(c.args[1]) or is_tensor(c.args[1])):
        return call_operation(f, f"{c.name}imum", CallArguments(c.name, c.args, {}))
    v, dim, keepdim = c.bind("input", "dim", "keepdim", keepdim=Static(False))
    k, keep = dim_of(dim, len(shape(v)), c.name), bool(constant(keepdim, "keepdim"))
    compared = v
    if c.name == "min":
        compared = arithmetic(f, "sub", Static(0), v) or elementwise(f, [v], lambda parts: op(f, "neg", parts))
    try:
        which = along(f, "argmax", compared, k, keep)
    except Refused:
        which = Held("extreme", Static(0))
    return TupleV((along(f, c.name, v, k, keep), which))
