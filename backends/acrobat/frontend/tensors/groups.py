"""`split`, `chunk` and `tensor_split` along an extent that varies, or into as many parts as each instance makes them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import at, length
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_list, is_ragged, is_unknown, known, retyped, type_or_none, variable_of
from backends.acrobat.frontend.tensors.fixing import with_check
from backends.acrobat.frontend.tensors.ints import whole
from backends.acrobat.frontend.tensors.lifting import as_rows, axis, is_numbers, of_rows, stack_parts
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import moving


def along_varying(f: Frame, name: str, x: Any, dim: int, sizes: Any) -> Value:
    """`x.split(sizes)`, `x.chunk(sizes)` or `x.tensor_split(sizes)` along dimension `dim`: the outermost extent that varies, or
    any other one where `sizes` are known at run time only. Raises Refused."""
    rows = as_rows(f, x, dim)
    varies = is_ragged(x) and axis(x) == dim
    if not varies:
        x = of_rows(rows, dim)
    sizes = f.static_list(whole(f, sizes)) if name != "chunk" else sizes
    if is_unknown(sizes) or is_unknown(rows):
        return unknown()
    if name == "tensor_split":
        return _in_sections(f, x, rows, sizes)
    if isinstance(sizes, TupleV) and sizes.items:
        result = _called(f, moving.in_sizes, rows, list_of(f, ast.Pass(), list(sizes.items)))
        return TupleV(tuple(_piece(f, x, at(f, result, Static(i)), known(e)[1]) for i, e in enumerate(sizes.items)))
    if name == "split" and (is_list(sizes) or is_ragged(sizes)) and sizes.type.item == INT:
        result = _called(f, moving.in_sizes, rows, retyped(sizes, ListT(INT)))
        return mapped(f, [result], lambda piece: _piece(f, x, piece, None))
    if type_or_none(sizes) != INT:
        raise Refused(f"`{name}` along an extent that varies takes an int{' or a list of ints' if name == 'split' else ''}")
    if name == "chunk" and varies and variable_of(sizes) in f.lengths:
        text = "ValueError: `chunk` by an extent, {0}, that is not the tensor's own"
        return _one_by_one(f, x, with_check(f, "eq", sizes, length(f, rows), text, lambda: rows))
    if name == "chunk":
        return mapped(f, [_called(f, moving.in_chunks, rows, sizes)], lambda piece: _piece(f, x, piece, None))
    if known(sizes) == (True, 1):
        return _one_by_one(f, x, rows)
    return mapped(f, [_called(f, moving.in_groups, rows, sizes)], lambda piece: _piece(f, x, piece, None))


def _in_sections(f: Frame, x: Any, rows: Value, sections: Any) -> Value:
    """So many parts of nearly one size, or the parts that begin at the given indices. Raises Refused."""
    if type_or_none(sections) == INT:
        result, (is_known, count) = _called(f, moving.in_sections, rows, sections), known(sections)
    elif isinstance(sections, TupleV) and sections.items:
        result = _called(f, moving.between, rows, list_of(f, ast.Pass(), [*sections.items]))
        is_known, count = True, len(sections.items) + 1
    elif (is_list(sections) or is_ragged(sections)) and sections.type.item == INT:
        result, is_known, count = _called(f, moving.between, rows, retyped(sections, ListT(INT))), False, 0
    else:
        raise Refused("`tensor_split` takes an int or ints here")
    if is_known and not is_unknown(result):
        return TupleV(tuple(_piece(f, x, at(f, result, Static(i)), None) for i in range(count)))
    return mapped(f, [result], lambda piece: _piece(f, x, piece, None))


def _called(f: Frame, function: Callable[..., Any], *args: Value) -> Any:
    return f.call_with(function, list(args))


def _one_by_one(f: Frame, x: Any, rows: Value) -> Value:
    text = (
        "RuntimeError: a tensor without parts is taken apart in parts of 1, which gives an empty tensor: "
        "take `x[i : i + 1]` in a loop over `range(len(x))`, which has no round then"
    )
    some = with_check(f, "gt", length(f, rows), Static(0), text, lambda: rows)
    return mapped(f, [some], lambda row: _with_unit_extent(f, x, row))


def _with_unit_extent(f: Frame, x: Any, row: Any) -> Value:
    """The part of `x` as a tensor with the extent 1 in its place."""
    if is_numbers(x):
        return f.bind(n.ListOf((f.atom(row),), replace(x.type, extent=1), span=f.span), "part")
    return call_operation(f, "unsqueeze", CallArguments("unsqueeze", [row, Static(axis(x))], {}))


def _piece(f: Frame, x: Any, rows: Any, extent: int | None) -> Value:
    """Parts of `x` as a tensor; `extent` is how many there are, where that is known."""
    if is_unknown(rows):
        return unknown()
    if is_numbers(x):
        return retyped(rows, replace(x.type, extent=extent))
    if not extent or extent < 0:
        return of_rows(rows, axis(x))
    return stack_parts(f, [at(f, rows, Static(i)) for i in range(extent)], axis(x))
